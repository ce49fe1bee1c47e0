"""A thousand workers: how many calls their progress and their logs cost the NameNode of a cluster.

The coordinator's record, the pieces of the logs and the readers are the launcher's own. Time is a
number, the storage is in memory, and what is chance is drawn from a seed. The nodes show no logs,
as with Kerberos, so `logs --follow` has the run folder alone.
"""

import heapq
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from audioloom_storage import Location, list_folder
from audioloom_yarn_launcher.commands.logs import LOOK_AGAIN_REMOTE_S, LogsReader
from audioloom_yarn_launcher.coordinator.progress_record import ProgressRecord
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.monitoring.live import EVERY_S
from audioloom_yarn_launcher.monitoring.run_status import read_run_status, read_worker_statuses
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.roles import of_workers
from audioloom_yarn_launcher.rendezvous.status import status_key
from audioloom_yarn_launcher.runs.attempts import (
    AttemptMembers,
    WorkerRecord,
    begin,
    publish_record,
)
from audioloom_yarn_launcher.runs.layout import log_folder
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.system.files import nameless
from audioloom_yarn_launcher.worker.log import MERGE_AT, LogPieces
from counting_store import CountingStore

SIZE, SEED = 1000, 7
MOST_CALLS_A_SECOND = 100
SPAN_S = 10
LASTS_S, WATCHED_S = 8000, 240
"""So long the gang trains, and so long somebody follows the status and the logs of all workers."""
LOOK_S, TELL_S, LINE_S = 20.0, 10.0, 5.0


@dataclass
class Time:
    """Things that are done at their time, one after the other."""

    now: float = 0.0
    _due: list[tuple[float, int, Callable[[], float]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def at(self, moment: float, act: Callable[[], float]) -> None:
        """Do it at that time, and again after as many seconds as it answers."""
        heapq.heappush(self._due, (moment, next(self._numbers), act))

    def run(self, until: float) -> None:
        """Do all that is due until then."""
        while self._due[0][0] < until:
            self.now, _, act = heapq.heappop(self._due)
            self.at(self.now + act(), act)


@pytest.fixture
def output() -> Iterator[int]:
    """The output of a process; here all have the same."""
    descriptor = nameless()
    yield descriptor
    os.close(descriptor)


def begin_run() -> Location:
    """Begin a run of a thousand workers; return its folder."""
    spec = RunSpec(
        name="x", folder="hdfs://nn/root/runs/x", command=("train",), roles=of_workers(SIZE)
    )
    assert begin(spec.location, spec.attempt(1))
    workers = tuple(
        WorkerRecord(rank=r, worker=f"worker_{r}", host=f"n{r}", worker_pid=1, address=f"n{r}:1")
        for r in range(SIZE)
    )
    publish_record(spec.location, AttemptMembers(attempt=1, formed="", workers=workers))
    return spec.location


def statuses(step: int) -> list[Put]:
    """What each worker reports at a step."""
    known = f'"attempt": 1, "event": "step", "step": {step}, "loss": 0.123, "usage": {{"gpus": []}}'
    return [Put(status_key(rank), f'{{"rank": {rank}, {known}}}') for rank in range(SIZE)]


class Training:
    """A thousand workers that train, the coordinator's record, and people who watch at times."""

    def __init__(self, output: int, time: Time, folder: Location) -> None:
        self._output, self._time, self._folder = output, time, folder
        self._keys, self._reader = MemoryStore(), LogsReader(None)
        self._record = ProgressRecord(self._keys, folder, SIZE)
        self._record.begin(1)
        chance = random.Random(SEED)  # noqa: S311
        self.logs = [
            LogPieces(log_folder(folder, rank), 1, output, SIZE, chance=chance.random)
            for rank in range(SIZE)
        ]
        for log in self.logs:
            time.at(LOOK_S * chance.random(), partial(self._look, log))
        for act in (self._print, self._tell, self._publish, self._follow_logs, self._follow_status):
            time.at(0.0, act)

    def _look(self, log: LogPieces) -> float:
        log.look(self._time.now)
        return LOOK_S

    def _print(self) -> float:
        os.write(self._output, b"another line, like many before\n")
        return LINE_S

    def _tell(self) -> float:
        self._keys.transaction([], statuses(int(self._time.now)))
        return TELL_S

    def _publish(self) -> float:
        self._record.look()
        return self._record.next_pause()

    def _follow_logs(self) -> float:
        if self._is_watched:
            view = read_run_status(self._folder)
            logs = self._reader.open(view, 1, all_of_them=False)
            for _ in self._reader.read(view, logs, None, ended=False):
                pass
        return LOOK_AGAIN_REMOTE_S

    def _follow_status(self) -> float:
        if self._is_watched:
            assert SIZE == len(read_worker_statuses(read_run_status(self._folder)))
        return EVERY_S

    @property
    def _is_watched(self) -> bool:
        return self._time.now < WATCHED_S


def test_a_thousand_workers_make_few_calls(output: int) -> None:
    """At most a hundred a second while they train and are watched; their logs have few files."""
    time = Time()
    storage = CountingStore(lambda: time.now)
    with storage.installed():
        folder = begin_run()
        training = Training(output, time, folder)
        time.run(LASTS_S)
        assert storage.most_in(SPAN_S) <= MOST_CALLS_A_SECOND * SPAN_S
        assert storage.total / LASTS_S <= MOST_CALLS_A_SECOND / 4
        assert 1 == len([*list_folder(folder / "progress")])
        files = [len([*list_folder(log_folder(folder, rank))]) for rank in range(SIZE)]
        assert max(files) <= MERGE_AT
        before = storage.total
        for log in training.logs:
            log.finish()
        assert storage.total - before <= 8 * SIZE


def test_status_and_logs_of_a_thousand_workers_open_few_files(output: int) -> None:
    """The status one file for all; the logs list a folder and open a file for each worker."""
    storage, keys = CountingStore(), MemoryStore()
    with storage.installed():
        folder = begin_run()
        keys.transaction([], statuses(40))
        record = ProgressRecord(keys, folder, SIZE)
        record.begin(1)
        record.look()
        os.write(output, b"a line\n")
        for rank in range(SIZE):
            LogPieces(log_folder(folder, rank), 1, output, SIZE).finish()
        before = storage.total
        view = read_run_status(folder)
        assert {40} == {each.progress["step"] for each in read_worker_statuses(view)}
        assert storage.total - before <= 12
        before, reader = storage.total, LogsReader(None)
        lines = [*reader.read(view, reader.open(view, 1), None, ended=True)]
        assert [f"[{rank}] a line" for rank in range(SIZE)] == lines
        assert storage.total - before == 2 * SIZE
