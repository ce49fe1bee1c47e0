"""List the recordings inside a container, as rows of an inventory."""

from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
from audioloom_storage import Entry, StorageError, Unavailable, open_read

from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import (
    MOST_MEMBERS,
    BadContainer,
    Member,
    NoRecordings,
)
from audioloom_featurizer.inventory.schema import BATCH_ROWS, batch_of
from audioloom_featurizer.inventory.tally import Tally


def recordings_inside(path: str, entry: Entry, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Yield the members of a container as batches of `ROWS`; never an empty one.

    The path of a member is that of the container, a slash and the member's name. A container that
    is damaged or cannot be read is listed itself after its last whole member, so that the ledger
    names it.

    Raises:
        Unavailable: the storage failed, and a later scan may find more.
    """
    held: list[Member] = []
    ending = None
    try:
        for member in _members(path, entry):
            held.append(member)
            if len(held) == BATCH_ROWS:
                yield _rows(path, entry, held)
                held = []
    except NoRecordings:
        tally.add("other", pa.array([path]))
    except Unavailable:
        raise
    except (BadContainer, StorageError):
        tally.add("damaged", pa.array([path]))
        ending = batch_of(path=[path], size=[entry.size], modified_ns=[entry.modified_ns])
    if held:
        yield _rows(path, entry, held)
    if ending is not None:
        yield ending


def _members(path: str, entry: Entry) -> Iterator[Member]:
    with open_read(entry.location) as file:
        members = open_container(path, file, entry.size).members()
        yield from islice(members, MOST_MEMBERS)
        if next(members, None) is not None:
            raise BadContainer(f"more than {MOST_MEMBERS} members")


def _rows(path: str, entry: Entry, members: list[Member]) -> pa.RecordBatch:
    placed = [each.offset is not None for each in members]
    return batch_of(
        path=[f"{path}/{each.name}" for each in members],
        member=[each.name for each in members],
        offset=[each.offset for each in members],
        length=[each.size if has else None for each, has in zip(members, placed, strict=True)],
        size=[each.size for each in members],
        modified_ns=[entry.modified_ns] * len(members),
    )
