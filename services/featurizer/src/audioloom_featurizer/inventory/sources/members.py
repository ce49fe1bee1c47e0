"""List the members of containers in a process of their own, as strangers made them.

Libraries in C read containers. A container that ends the process, or takes all of its memory, is
damaged, and the scan goes on.
"""

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Literal, NamedTuple, cast

import pyarrow as pa
from audioloom_storage import Entry, StorageError, Unavailable, open_read

from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import BadContainer, Container, Member, NoRecordings
from audioloom_featurizer.inventory.schema import BATCH_ROWS
from audioloom_featurizer.sandbox.messages import CrashHistory, Heartbeat, MonitoredFile
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised
from audioloom_featurizer.scratch import PREFIX

_LIMITS = WorkerLimits(memory=4 << 30)  # a page of Parquet alone may have 2 GiB
# A request takes 10 ms. After the death of the process, all containers of a request are read again.
_MOST, _MOST_BYTES = 256, 256 << 20
_SCHEMA = pa.schema([("name", pa.string()), ("size", pa.int64()), ("offset", pa.int64())])

State = Literal["whole", "damaged", "other"]


class Listing(NamedTuple):
    """What became of a container.

    Attributes:
        state: other if it is whole and holds no recordings; of a damaged one the members before
            the damage are listed.
        left_out: members that are no recordings.
        batches: the numbers of its batches in the file of the request.
    """

    state: State
    left_out: int = 0
    batches: range = range(0)


def list_members(
    entries: Sequence[Entry],
) -> Iterator[tuple[Entry, Listing, Iterator[pa.RecordBatch]]]:
    """List containers: each with batches of name, size and offset of its members, in its order.

    Raises:
        Unavailable: the storage failed, and a later scan may find more.
    """
    for group in _groups(entries):
        with tempfile.NamedTemporaryFile(prefix=PREFIX) as file:
            unit = pickle.dumps((group, file.name))
            answer = run_supervised(pickle.dumps(write_members), _LIMITS, unit)
            listings: list[Listing] = pickle.loads(answer)  # noqa: S301 - from our own process
            batches = pa.ipc.open_file(pa.OSFile(file.name))
            for entry, listing in zip(group, listings, strict=True):
                yield entry, listing, map(batches.get_batch, listing.batches)


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Cut entries into those of one request."""
    group: list[Entry] = []
    for entry in entries:
        size = sum(each.size for each in group) + entry.size
        if group and (len(group) == _MOST or size > _MOST_BYTES):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def write_members(
    unit: tuple[Sequence[Entry], str], history: CrashHistory, heartbeat: Heartbeat
) -> list[Listing]:
    """Write the members of containers to a local file; the task of a supervised process."""
    entries, path = unit
    listings = [Listing("damaged")] * len(entries)
    written = 0
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as table:
        for number in sorted(range(len(entries)), key=lambda each: each != history.suspect):
            if (refusal := history.blamed.get(number)) is not None:
                if refusal.kind == "unavailable":  # the storage was waited for, not a library
                    raise Unavailable(where=entries[number].location, found=refusal.message)
                continue
            first, container = written, _Members(entries[number])
            heartbeat.start(number)
            members = container.read(heartbeat)
            while some := list(islice(members, BATCH_ROWS)):
                columns = [[getattr(each, name) for each in some] for name in _SCHEMA.names]
                table.write_batch(pa.record_batch(columns, schema=_SCHEMA))
                written += 1
            heartbeat.finish()
            found = Listing(container.state, container.left_out, range(first, written))
            listings[number] = found
    return listings


class _Members:
    """The members of a container up to the first damage; then the state is known."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.state: State = "whole"
        self.left_out = 0

    def read(self, heartbeat: Heartbeat) -> Iterator[Member]:
        container: Container | None = None
        try:
            with open_read(self._entry.location) as file:
                monitored = cast("BinaryIO", MonitoredFile(file, heartbeat))
                name, size = self._entry.location.name, self._entry.size
                container = open_container(name, monitored, size)
                yield from container.members()
        except NoRecordings:
            self.state = "other"
        except Unavailable:
            raise
        except (BadContainer, StorageError):
            self.state = "damaged"
        finally:
            self.left_out = container.left_out if container else 0
