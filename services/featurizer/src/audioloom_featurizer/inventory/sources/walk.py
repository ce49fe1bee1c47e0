"""Walk a source folder and separate recordings from skipped files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Entry, Location, walk

from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of

AUDIO_SUFFIXES = (
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
"""Suffixes of the formats that can be decoded."""


@dataclass
class Skipped:
    """The number of skipped files by reason, with one example of each.

    Attributes:
        hidden: the name of the file or of a folder above it starts with a dot, as in AppleDouble
            files (`._x.wav`).
        other: the name has another suffix.
        elsewhere: an fsimage's dump lists the file outside the source.
    """

    hidden: int = 0
    other: int = 0
    elsewhere: int = 0
    examples: dict[str, str] = field(default_factory=dict)

    def count(self, reason: str, files: int, example: str) -> None:
        """Count more files."""
        if files:
            setattr(self, reason, getattr(self, reason) + files)
            self.examples.setdefault(reason, example)

    def add(self, other: "Skipped") -> None:
        """Add the counts of another listing."""
        for reason in self.counts:
            self.count(reason, getattr(other, reason), other.examples.get(reason, ""))

    @property
    def counts(self) -> dict[str, int]:
        """The number of files, by reason."""
        return {key: value for key, value in vars(self).items() if key != "examples"}

    @property
    def total(self) -> int:
        """All skipped files."""
        return sum(self.counts.values())


def normalise_suffixes(wanted: Iterable[str]) -> tuple[str, ...]:
    """Sort suffixes, each once, in lower case with a dot; `AUDIO_SUFFIXES` if there are none."""
    given = {f".{text.strip().lstrip('.').lower()}" for text in wanted if text.strip(" .")}
    return tuple(sorted(given)) or AUDIO_SUFFIXES


def walk_recordings(
    source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings of a source as batches of `ROWS`, in the order of the walk.

    Empty files, dangling links and names that are not UTF-8 count as recordings, so that the
    ledger names them.

    Args:
        source: the folder that paths are relative to.
        suffixes: the suffixes of recordings.
        skipped: counts the other files.

    Raises:
        NotFound, NotAFolder, PermissionDenied: the source, or a folder below it, cannot be listed.
    """
    yield from recordings_among(walk(source), source, suffixes, skipped)


def recordings_among(
    entries: Iterator[Entry], source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings among the files below a source, as batches of `ROWS`."""
    while some := list(islice(entries, BATCH_ROWS)):
        batch = batch_of(
            path=[as_text(entry.location.relative_to(source)) for entry in some],
            size=[entry.size for entry in some],
            modified_ns=[entry.modified_ns for entry in some],
        )
        yield choose(batch, suffixes, skipped)


def choose(batch: pa.RecordBatch, suffixes: tuple[str, ...], skipped: Skipped) -> pa.RecordBatch:
    """Keep the rows that are recordings, whatever the case of the suffix; count the others."""
    paths = batch.column("path")
    lower = pc.utf8_lower(paths)
    hidden = pc.match_substring_regex(paths, r"(?:^|/)\.")
    named = reduce(pc.or_, (pc.ends_with(lower, suffix) for suffix in suffixes))
    for reason, which in (("hidden", hidden), ("other", pc.invert(pc.or_(hidden, named)))):
        passed = paths.filter(which)
        skipped.count(reason, len(passed), passed[0].as_py() if len(passed) else "")
    return batch.filter(pc.and_not(named, hidden))
