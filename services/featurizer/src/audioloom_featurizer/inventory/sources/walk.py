"""Separate the recordings among the files of a source, and inside containers, from the others."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Entry, Location

from audioloom_featurizer.containers.formats import SUFFIXES as CONTAINER_SUFFIXES
from audioloom_featurizer.containers.formats import WITHOUT_SUFFIXES, container_suffix
from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of
from audioloom_featurizer.inventory.sources.members import list_members
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
    holds_member: Callable[[Location, str], bool] = lambda _container, _name: True,
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings among the files below a source as batches of `ROWS`.

    Empty files, dangling links and names that are not UTF-8 count as recordings, so that the
    ledger names them. With *containers*, the members of containers for which *holds_member* is
    true follow the other recordings.
    """
    while some := list(islice(entries, BATCH_ROWS)):
        held: list[Entry] = []
        plain: list[Entry] = []
        for entry in some:
            inside = containers and _is_container(entry.location, source)
            (held if inside else plain).append(entry)
        batch = batch_of(
            path=[as_text(entry.location.relative_to(source)) for entry in plain],
            size=[entry.size for entry in plain],
            modified_ns=[entry.modified_ns for entry in plain],
        )
        yield choose(batch, suffixes, tally)
        yield from _recordings_inside(held, source, suffixes, tally, holds_member)


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


def _is_container(file: Location, source: Location) -> bool:
    """Whether a file may hold recordings, by its suffix; hidden files hold none."""
    if container_suffix(file.name) is None:
        return False
    return file == source or re.search(_HIDDEN, file.relative_to(source)) is None


def _recordings_inside(
    containers: Sequence[Entry],
    source: Location,
    suffixes: tuple[str, ...],
    tally: Tally,
    holds_member: Callable[[Location, str], bool],
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings inside containers, as batches of `ROWS`.

    The path of a member is that of the container, a slash and the member's name; if the container
    is the source, it is the name, as in a folder. A container that is damaged or cannot be read is
    listed itself after its last whole member, so that the ledger names it.

    Raises:
        Unavailable: the storage failed, and a later scan may find more.
    """
    for entry, listing, batches in list_members(containers):
        is_source = entry.location == source
        start = "" if is_source else f"{as_text(entry.location.relative_to(source))}/"
        itself = pa.array([entry.location.name if is_source else start[:-1]], pa.string())
        for members in batches:
            rows = _rows(start, entry, members, partial(holds_member, entry.location))
            if container_suffix(entry.location.name) in WITHOUT_SUFFIXES:
                tally.add("listed", rows.column("path"))
                yield rows
            else:
                yield choose(rows, suffixes, tally)
        if listing.left_out:
            tally.count("left_out", listing.left_out, itself.to_pylist())
        if listing.state == "other":
            tally.add("other", itself)
        if listing.state == "damaged":
            tally.add("damaged", itself)
            tally.add("listed", itself)
            yield batch_of(
                path=itself,
                # A member of this name is looked for in the source, which says what is damaged.
                member=itself if is_source else [None],
                size=[entry.size],
                modified_ns=[entry.modified_ns],
            )


def _rows(
    start: str, entry: Entry, members: pa.RecordBatch, holds: Callable[[str], bool]
) -> pa.RecordBatch:
    names = members.column("name").to_pylist()
    held = members.filter(pa.array([holds(name) for name in names], pa.bool_()))
    size, offset = held.column("size"), held.column("offset")
    return batch_of(
        path=[f"{start}{name}" for name in held.column("name").to_pylist()],
        member=held.column("name"),
        offset=offset,
        length=pc.if_else(pc.is_null(offset), None, size),
        size=size,
        modified_ns=[entry.modified_ns] * held.num_rows,
    )


def _end_in(paths: pa.StringArray, suffixes: tuple[str, ...]) -> pa.BooleanArray:
    lower = pc.utf8_lower(paths)
    return reduce(pc.or_, (pc.ends_with(lower, suffix) for suffix in suffixes))
