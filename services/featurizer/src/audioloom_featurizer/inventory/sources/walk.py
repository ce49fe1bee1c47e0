"""Separate the recordings among the files of a source from the others."""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Entry, Location

from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of
from audioloom_featurizer.inventory.tally import Tally

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


def normalise_suffixes(wanted: Iterable[str]) -> tuple[str, ...]:
    """Sort suffixes, each once, in lower case with a dot; `AUDIO_SUFFIXES` if there are none."""
    given = {f".{text.strip().lstrip('.').lower()}" for text in wanted if text.strip(" .")}
    return tuple(sorted(given)) or AUDIO_SUFFIXES


def recordings_among(
    entries: Iterator[Entry], source: Location, suffixes: tuple[str, ...], tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings among the files below a source as batches of `ROWS`, in their order.

    Empty files, dangling links and names that are not UTF-8 count as recordings, so that the
    ledger names them.
    """
    while some := list(islice(entries, BATCH_ROWS)):
        batch = batch_of(
            path=[as_text(entry.location.relative_to(source)) for entry in some],
            size=[entry.size for entry in some],
            modified_ns=[entry.modified_ns for entry in some],
        )
        yield choose(batch, suffixes, tally)


def choose(batch: pa.RecordBatch, suffixes: tuple[str, ...], tally: Tally) -> pa.RecordBatch:
    """Keep the rows that are recordings, whatever the case of the suffix; count all rows."""
    paths = batch.column("path")
    lower = pc.utf8_lower(paths)
    hidden = pc.match_substring_regex(paths, r"(?:^|/)\.")
    named = reduce(pc.or_, (pc.ends_with(lower, suffix) for suffix in suffixes))
    listed = pc.and_not(named, hidden)
    other = pc.invert(pc.or_(hidden, named))
    for what, which in (("listed", listed), ("hidden", hidden), ("other", other)):
        tally.add(what, paths.filter(which))
    return batch.filter(listed)
