"""List the recordings inside a container, as rows of an inventory."""

from collections.abc import Callable, Iterator
from itertools import islice

import pyarrow as pa
from audioloom_storage import Entry, Location, StorageError, Unavailable, open_read

from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import (
    MOST_MEMBERS,
    BadContainer,
    Member,
    NoRecordings,
)
from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of
from audioloom_featurizer.inventory.tally import Tally


def recordings_inside(
    entry: Entry,
    source: Location,
    holds: Callable[[str], bool],
    choose: Callable[[pa.RecordBatch], pa.RecordBatch],
    tally: Tally,
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings inside a container, as batches of `ROWS`.

    Args:
        entry: the container.
        source: the folder or container that paths are relative to.
        holds: whether a member is meant, by its name.
        choose: keeps the recordings among the members that are meant, and counts all of these.
        tally: counts a damaged container, and one of another kind.

    The path of a member is that of the container, a slash and the member's name; if the container
    is the source, it is the name, as in a folder. A container that is damaged or cannot be read is
    listed itself after its last whole member, so that the ledger names it.

    Raises:
        Unavailable: the storage failed, and a later scan may find more.
    """
    is_source = entry.location == source
    start = "" if is_source else f"{as_text(entry.location.relative_to(source))}/"
    itself = pa.array([entry.location.name if is_source else start[:-1]], pa.string())
    held: list[Member] = []
    ending = None
    try:
        for member in _members(entry):
            if holds(member.name):
                held.append(member)
            if len(held) == BATCH_ROWS:
                yield choose(_rows(start, entry, held))
                held = []
    except NoRecordings:
        tally.add("other", itself)
    except Unavailable:
        raise
    except (BadContainer, StorageError):
        tally.add("damaged", itself)
        tally.add("listed", itself)
        ending = batch_of(
            path=itself,
            # A member of this name is looked for in the source, which says what is damaged.
            member=itself if is_source else [None],
            size=[entry.size],
            modified_ns=[entry.modified_ns],
        )
    if held:
        yield choose(_rows(start, entry, held))
    if ending is not None:
        yield ending


def _members(entry: Entry) -> Iterator[Member]:
    with open_read(entry.location) as file:
        members = open_container(entry.location.name, file, entry.size).members()
        yield from islice(members, MOST_MEMBERS)
        if next(members, None) is not None:
            raise BadContainer(f"more than {MOST_MEMBERS} members")


def _rows(start: str, entry: Entry, members: list[Member]) -> pa.RecordBatch:
    placed = [each.offset is not None for each in members]
    return batch_of(
        path=[f"{start}{each.name}" for each in members],
        member=[each.name for each in members],
        offset=[each.offset for each in members],
        length=[each.size if has else None for each, has in zip(members, placed, strict=True)],
        size=[each.size for each in members],
        modified_ns=[entry.modified_ns] * len(members),
    )
