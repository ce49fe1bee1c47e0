"""List a source folder: which files are taken as recordings, and which are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Entry, Location, walk

from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of

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


@dataclass
class Skipped:
    """How many files were passed over, and why; one example of each kind.

    Attributes:
        hidden: names that begin with a dot, AppleDouble files (`._x.wav`) among them, and whatever
            lies in a folder of such a name.
        other: names with another ending.
        elsewhere: what an fsimage's dump tells of places that are not below the source.
    """

    hidden: int = 0
    other: int = 0
    elsewhere: int = 0
    examples: dict[str, str] = field(default_factory=dict)

    def count(self, reason: str, files: int, example: str) -> None:
        """Count some more files."""
        if files:
            setattr(self, reason, getattr(self, reason) + files)
            self.examples.setdefault(reason, example)

    def add(self, other: Skipped) -> None:
        """Count what was passed over elsewhere too."""
        for reason in self.counts:
            self.count(reason, getattr(other, reason), other.examples.get(reason, ""))

    @property
    def counts(self) -> dict[str, int]:
        """How many, by reason."""
        return {key: value for key, value in vars(self).items() if key != "examples"}

    @property
    def total(self) -> int:
        """All files that were passed over."""
        return sum(self.counts.values())


def clean_suffixes(wanted: Iterable[str]) -> tuple[str, ...]:
    """The endings in lower case, with their dot, each once, sorted; all audio endings for none."""
    given = {f".{text.strip().lstrip('.').lower()}" for text in wanted if text.strip(" .")}
    return tuple(sorted(given)) or AUDIO


def list_recordings(
    source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """The recordings of a source, as batches of `ROWS`, as the walk meets them.

    Empty files, dangling links and names that are no UTF-8 are recordings too: they end in the
    ledger, which says so, and not in silence.

    Args:
        source: what paths are relative to.
        suffixes: the endings of recordings.
        skipped: told what is passed over.

    Raises:
        NotFound, NotAFolder, PermissionDenied: the source, or a folder below it, cannot be listed.
    """
    yield from take_recordings(walk(source), source, suffixes, skipped)


def take_recordings(
    entries: Iterator[Entry], source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """Those of some files below a source that are recordings, as batches of `ROWS`."""
    while some := list(islice(entries, BATCH_ROWS)):
        batch = batch_of(
            path=[as_text(entry.location.relative_to(source)) for entry in some],
            size=[entry.size for entry in some],
            modified_ns=[entry.modified_ns for entry in some],
        )
        yield choose(batch, suffixes, skipped)


def choose(batch: pa.RecordBatch, suffixes: tuple[str, ...], skipped: Skipped) -> pa.RecordBatch:
    """Those rows that are recordings; the rest is counted in *skipped*.

    Endings are compared without regard to case.
    """
    paths = batch.column("path")
    lower = pc.utf8_lower(paths)
    hidden = pc.match_substring_regex(paths, r"(?:^|/)\.")
    named = reduce(pc.or_, (pc.ends_with(lower, suffix) for suffix in suffixes))
    for reason, which in (("hidden", hidden), ("other", pc.invert(pc.or_(hidden, named)))):
        passed = paths.filter(which)
        skipped.count(reason, len(passed), passed[0].as_py() if len(passed) else "")
    return batch.filter(pc.and_not(named, hidden))
