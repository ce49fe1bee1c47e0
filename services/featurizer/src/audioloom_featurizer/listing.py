"""List a source folder: which files are taken as recordings, and which are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from audioloom_storage import Location, walk

AUDIO = (
    ".aif",
    ".aifc",
    ".aiff",
    ".au",
    ".caf",
    ".flac",
    ".mp3",
    ".oga",
    ".ogg",
    ".opus",
    ".snd",
    ".sph",
    ".w64",
    ".wav",
    ".wave",
)
"""Endings of the formats that can be decoded here."""


@dataclass(frozen=True)
class Listed:
    """A file taken as a recording.

    Attributes:
        path: relative to the source.
        size: bytes.
        modified_ns: last change, nanoseconds since 1970 UTC.
    """

    path: str
    size: int
    modified_ns: int


@dataclass
class Skipped:
    """How many files were passed over, and why; one example of each kind.

    Attributes:
        hidden: names that begin with a dot, AppleDouble files (`._x.wav`) among them, and whatever
            lies in a folder of such a name.
        other: names with another ending.
        unnameable: names that are no UTF-8, which no manifest can hold.
    """

    hidden: int = 0
    other: int = 0
    unnameable: int = 0
    examples: dict[str, str] = field(default_factory=dict)

    def count(self, reason: str, path: str) -> None:
        """Count one more file."""
        setattr(self, reason, getattr(self, reason) + 1)
        self.examples.setdefault(reason, ascii(path)[1:-1] if reason == "unnameable" else path)

    @property
    def total(self) -> int:
        """All files that were passed over."""
        return self.hidden + self.other + self.unnameable


def clean_suffixes(wanted: Iterable[str]) -> tuple[str, ...]:
    """The endings in lower case, with their dot, each once, sorted; all audio endings for none."""
    given = {f".{text.strip().lstrip('.').lower()}" for text in wanted if text.strip(" .")}
    return tuple(sorted(given)) or AUDIO


def list_recordings(
    source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[Listed]:
    """The recordings below *source* as the walk meets them; the rest is counted in *skipped*.

    Endings are compared without regard to case. Empty files and dangling links are recordings too:
    they end in the ledger, which says so, and not in silence.

    Raises:
        NotFound, NotAFolder, PermissionDenied: the source, or a folder below it, cannot be listed.
    """
    for entry in walk(source):
        path = entry.location.relative_to(source)
        if any(part.startswith(".") for part in path.split("/")):
            skipped.count("hidden", path)
        elif not entry.location.name.lower().endswith(suffixes):
            skipped.count("other", path)
        elif not _is_text(path):
            skipped.count("unnameable", path)
        else:
            yield Listed(path, entry.size, entry.modified_ns)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
