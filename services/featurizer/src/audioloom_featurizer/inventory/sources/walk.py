"""Separate the recordings among the files of a source from the others."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Entry, Location

from audioloom_featurizer.containers.formats import SUFFIXES as CONTAINER_SUFFIXES
from audioloom_featurizer.containers.formats import WITHOUT_SUFFIXES, container_suffix
from audioloom_featurizer.inventory.paths import as_text, file_of
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of
from audioloom_featurizer.inventory.sources.members import recordings_inside
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

_HIDDEN = r"(?:^|/)\."


def normalise_suffixes(wanted: Iterable[str]) -> tuple[str, ...]:
    """Sort suffixes, each once, in lower case with a dot; `AUDIO_SUFFIXES` if there are none."""
    given = {f".{text.strip().lstrip('.').lower()}" for text in wanted if text.strip(" .")}
    return tuple(sorted(given)) or AUDIO_SUFFIXES


def recordings_among(
    entries: Iterator[Entry],
    source: Location,
    suffixes: tuple[str, ...],
    tally: Tally,
    *,
    containers: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings among the files below a source as batches of `ROWS`.

    Empty files, dangling links and names that are not UTF-8 count as recordings, so that the
    ledger names them. With *containers*, those inside containers follow the other ones.
    """
    while some := list(islice(entries, BATCH_ROWS)):
        named = [(as_text(entry.location.relative_to(source)), entry) for entry in some]
        held = [pair for pair in named if containers and is_container(pair[0])]
        plain = [pair for pair in named if not (containers and is_container(pair[0]))]
        batch = batch_of(
            path=[path for path, _ in plain],
            size=[entry.size for _, entry in plain],
            modified_ns=[entry.modified_ns for _, entry in plain],
        )
        yield choose(batch, suffixes, tally)
        for path, entry in held:
            for members in recordings_inside(path, entry, tally):
                yield choose_members(members, suffixes, tally)


def choose(batch: pa.RecordBatch, suffixes: tuple[str, ...], tally: Tally) -> pa.RecordBatch:
    """Keep the rows that are recordings, whatever the case of the suffix; count all rows."""
    paths = batch.column("path")
    hidden = pc.match_substring_regex(paths, _HIDDEN)
    named, held = _end_in(paths, suffixes), _end_in(paths, CONTAINER_SUFFIXES)
    listed = pc.and_not(named, hidden)
    holding = pc.and_not(pc.and_not(held, named), hidden)
    other = pc.invert(pc.or_(hidden, pc.or_(named, held)))
    counted = {"listed": listed, "hidden": hidden, "other": other, "containers": holding}
    for what, which in counted.items():
        tally.add(what, paths.filter(which))
    return batch.filter(listed)


def choose_members(
    batch: pa.RecordBatch, suffixes: tuple[str, ...], tally: Tally
) -> pa.RecordBatch:
    """Keep the members that are recordings; a container that is damaged is listed itself."""
    paths = batch.column("path")
    if batch.column("member").null_count or names_without_suffix(batch):
        tally.add("listed", paths)
        return batch
    return choose(batch, suffixes, tally)


def is_container(path: str) -> bool:
    """Whether a file may hold recordings, by its suffix; hidden files hold none."""
    return container_suffix(path) is not None and re.search(_HIDDEN, path) is None


def names_without_suffix(members: pa.RecordBatch) -> bool:
    """Whether the members of a container are recordings whatever their names."""
    path, member = (members.column(name)[0].as_py() for name in ("path", "member"))
    return container_suffix(file_of(path, member)) in WITHOUT_SUFFIXES


def _end_in(paths: pa.StringArray, suffixes: tuple[str, ...]) -> pa.BooleanArray:
    lower = pc.utf8_lower(paths)
    return reduce(pc.or_, (pc.ends_with(lower, suffix) for suffix in suffixes))
