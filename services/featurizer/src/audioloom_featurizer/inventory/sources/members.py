"""List the members of containers in a process of their own, as strangers made them.

Libraries in C read containers. A container that ends the process, or takes all of its memory, is
damaged, and the scan goes on.
"""

import pickle
import tempfile
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Literal, NamedTuple, cast

import pyarrow as pa
from audioloom_storage import Entry, StorageError, Unavailable, open_read

from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import BadContainer, Container, Member, NoRecordings
from audioloom_featurizer.inventory.schema import BATCH_ROWS
from audioloom_featurizer.sandbox.messages import CrashHistory, Heartbeat, MonitoredFile
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised

_LIMITS = WorkerLimits(memory=4 << 30)  # a page of Parquet alone may have 2 GiB
_SCHEMA = pa.schema([("name", pa.string()), ("size", pa.int64()), ("offset", pa.int64())])

State = Literal["whole", "damaged", "other"]


class Listing(NamedTuple):
    """What became of a container.

    Attributes:
        state: other if it is whole and holds no recordings; of a damaged one the members before
            the damage are listed.
        left_out: members that are no recordings.
    """

    state: State
    left_out: int


def list_members(entry: Entry) -> tuple[Listing, Iterator[pa.RecordBatch]]:
    """List a container: batches of name, size and offset of its members, in its order.

    Raises:
        Unavailable: the storage failed, and a later scan may find more.
    """
    with tempfile.NamedTemporaryFile(prefix="audioloom-featurizer-") as file:
        unit = pickle.dumps((entry, file.name))
        answer = run_supervised(pickle.dumps(write_members), _LIMITS, unit)
        listing: Listing = pickle.loads(answer)  # noqa: S301 - from our own process
        stream = pa.ipc.open_stream(pa.OSFile(file.name))  # open, so it outlives the name
    return listing, iter(stream)


def write_members(unit: tuple[Entry, str], history: CrashHistory, heartbeat: Heartbeat) -> Listing:
    """Write the members of a container to a local file; the task of a supervised process."""
    entry, path = unit
    listing = _Listing(entry, heartbeat)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, _SCHEMA) as stream:
        if history.blamed:
            return Listing("damaged", 0)
        members = listing.members()
        while some := list(islice(members, BATCH_ROWS)):
            columns = [[getattr(each, name) for each in some] for name in _SCHEMA.names]
            stream.write_batch(pa.record_batch(columns, schema=_SCHEMA))
    return Listing(listing.state, listing.left_out)


class _Listing:
    def __init__(self, entry: Entry, heartbeat: Heartbeat) -> None:
        self._entry, self._heartbeat = entry, heartbeat
        self.state: State = "whole"
        self.left_out = 0

    def members(self) -> Iterator[Member]:
        """Yield the members up to the first damage, and set the state."""
        self._heartbeat.start(0)
        container: Container | None = None
        try:
            with open_read(self._entry.location) as file:
                monitored = cast("BinaryIO", MonitoredFile(file, self._heartbeat))
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
            self._heartbeat.finish()
