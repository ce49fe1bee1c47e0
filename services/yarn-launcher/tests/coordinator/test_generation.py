"""The coordinator with a store and workers of this process: what no real worker does on demand."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.coordinator import generation
from audioloom_yarn_launcher.coordinator.context import Gang, GenerationResult
from audioloom_yarn_launcher.coordinator.generation import run_generation
from audioloom_yarn_launcher.coordinator.progress_record import ProgressRecord
from audioloom_yarn_launcher.coordinator.sidecars import Sidecars
from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Arrival, Put, Workers
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost
from audioloom_yarn_launcher.rendezvous.messages import (
    GANG,
    HEARTBEAT,
    ORDER,
    Exit,
    Member,
    Membership,
    Plan,
    encode,
    read_orders,
)
from audioloom_yarn_launcher.rendezvous.roles import of_workers
from audioloom_yarn_launcher.system.interrupts import SignalState


class FakeWorkers:
    """Two workers that do as the test says; 1 is on a node that is cut off once the gang runs."""

    def __init__(self, store: MemoryStore, says: Exit) -> None:
        self._store, self._says = store, says
        store.subscribe(ORDER, self._hear)
        self._vanished = threading.Event()
        self.requests: list[bool] = []

    def request_missing(self) -> None:
        self.requests.append(GANG.order("end", 0) in self._store.get_prefix(ORDER))
        for rank in range(2 if len(self.requests) == 1 else 0):
            me = f"worker_{rank}"
            member = Member(me, f"node-{rank}:1", f"node-{rank}", 1)
            puts = [
                Put(GANG.report("rank", rank), me, me),
                Put(GANG.report("ready", 0, rank), encode(member), me),
            ]
            self._store.transaction([], puts)

    def _hear(self) -> None:
        orders = read_orders(self._store.get_prefix(ORDER))
        if orders.membership is not None and not self._vanished.is_set():
            self._vanished.set()
            self._store.drop_owner("worker_1")
        if orders.end is not None and GANG.report("exit", 0, 0) not in self._store.get_prefix(""):
            stopped = Exit("worker_0", code=-9, stopped=True)
            self._store.transaction([], [Put(GANG.report("exit", 0, 1), encode(self._says))])
            self._store.transaction([], [Put(GANG.report("exit", 0, 0), encode(stopped))])

    def exited(self) -> dict[str, WorkerLost]:
        return {}

    def exit_reason(self, worker: str) -> WorkerLost:
        return WorkerLost(f"the node of {worker} was lost")

    def pending(self) -> int:
        return 0

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        every = [Arrival(f"worker_{rank}", "unregistered", reason="it hangs") for rank in range(2)]
        return [each for each in every if each.worker not in registered]

    def kill(self, worker: str) -> None:
        raise AssertionError(f"{worker} has answered")

    def close(self) -> None:
        return None


class Absentees(FakeWorkers):
    """Two workers of which none comes, and so many have no container."""

    def __init__(self, store: MemoryStore, pending: int) -> None:
        super().__init__(store, Exit("worker_0", code=0, stopped=False))
        self._pending = pending

    def request_missing(self) -> None:
        return None

    def pending(self) -> int:
        return self._pending


def gang_of(
    store: MemoryStore,
    workers: Workers,
    plan: Plan,
    wakes: queue.SimpleQueue[None],
    limits: Limits,
) -> Gang:
    """A gang without sidecars."""
    nobody = Sidecars(store, plan, limits, lambda _: workers, lambda _: None)
    progress = ProgressRecord(store, locate("/nowhere"), plan.gang_size)
    return Gang(store, workers, plan, wakes, SignalState(), limits, nobody, progress)


def form(pending: int, limits: Limits, workers: type[Absentees] = Absentees) -> GenerationResult:
    store = MemoryStore()
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    plan = Plan(of_workers(2), ("train",), "/run", "m")
    gang = gang_of(store, workers(store, pending), plan, wakes, limits)
    gang.driver.begin(0)
    went = run_generation(gang, attempt=1, generation=0, formed=lambda *_: None)
    assert went.membership is None
    assert [] == list(went.exits)
    return went


def test_who_has_no_container_is_told_from_who_does_not_come() -> None:
    """Each has a limit of its own, and the other one does not count meanwhile."""
    full = form(1, Limits(registration_s=0.001, allocation_s=0.01)).cause
    assert full is not None
    assert ("allocation", 75) == (full.kind, full.exit_code)
    assert full.text.startswith("not all of 2 workers got a container within 0.01 s")
    went = form(0, Limits(registration_s=0.01, allocation_s=0.001))
    silent = went.cause
    assert silent is not None
    assert ("registration", 75) == (silent.kind, silent.exit_code)
    expected = "0 of 2 workers registered within 0.01 s (came: none; worker_0, worker_1: it hangs)"
    assert expected == silent.text
    assert ["unregistered", "unregistered"] == [each.state for each in went.arrivals]


class Twins(Absentees):
    """Two workers on nodes that call themselves the same."""

    def request_missing(self) -> None:
        for rank in range(2):
            member = Member(f"worker_{rank}", "localhost:1", f"node-{rank}", 1)
            puts = [
                Put(GANG.report("rank", rank), member.id, member.id),
                Put(GANG.report("ready", 0, rank), encode(member), member.id),
            ]
            self._store.transaction([], puts)


def test_two_workers_with_one_address_are_named() -> None:
    """At once, since waiting helps nobody, and as what it is: a wrong configuration."""
    went = form(0, Limits(registration_s=600), Twins)
    assert went.cause is not None
    assert ("registration", 78, True) == (
        went.cause.kind,
        went.cause.exit_code,
        went.cause.repeats,
    )
    assert went.cause.text.startswith(
        "workers 0 on node-0 and 1 on node-1 have one address, localhost:1: give an --advertise"
    )
    assert ["registered", "registered"] == [each.state for each in went.arrivals]


class Frozen(Absentees):
    """A worker that came, counted, and counts no more."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, pending=0)
        self.killed: list[str] = []
        store.transaction([], [Put(f"{HEARTBEAT}worker_0", "7", "worker_0")])

    def kill(self, worker: str) -> None:
        self.killed.append(worker)


def test_a_worker_that_freezes_before_the_gang_is_complete_is_lost() -> None:
    """Long before the time is up within which all must have come."""
    store = MemoryStore()
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    workers, plan = Frozen(store), Plan(of_workers(2), ("train",), "/run", "m", frozen_s=0.5)
    gang = gang_of(store, workers, plan, wakes, Limits(600))
    gang.driver.begin(0)
    went = run_generation(gang, attempt=1, generation=0, formed=lambda *_: None)
    assert went.cause is not None
    assert ("lost", 75) == (went.cause.kind, went.cause.exit_code)
    assert "worker_0 was lost before the gang was complete: its agent sent" in went.cause.text
    assert ["worker_0"] == workers.killed


def run(says: Exit, *, goes_on: bool = True) -> tuple[GenerationResult, list[bool]]:
    store = MemoryStore()
    wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
    plan = Plan(of_workers(2), ("train",), "/run", "m")
    workers = FakeWorkers(store, says)
    gang = gang_of(store, workers, plan, wakes, Limits(60))
    memberships: list[Membership] = []
    gang.driver.begin(0)
    went = run_generation(
        gang,
        attempt=1,
        generation=0,
        formed=lambda members, _: memberships.append(members),
        goes_on=goes_on,
    )
    assert 1 == len(memberships)
    assert GANG.order("end", 0) in store.get_prefix("")
    return went, workers.requests


def test_who_vanished_is_lost_whatever_it_says_afterwards() -> None:
    """A node that is cut off lives on: its worker hears of the end, and reports as if it were well.

    That a generation had finished would be the worst of all answers.
    """
    for code, stopped in ((-9, True), (0, False), (75, False)):
        went, _ = run(Exit("worker_1", code=code, stopped=stopped))
        assert went.cause is not None
        assert ("lost", 1, 75) == (went.cause.kind, went.cause.rank, went.cause.exit_code)
        assert "worker 1 was lost: the node of worker_1 was lost" == went.cause.text
        assert {1: WorkerLost("the node of worker_1 was lost")} == went.lost
        assert {0} == set(went.exits)


def test_another_worker_is_asked_for_before_the_others_have_ended() -> None:
    """Unless no generation is to follow, for which it would be."""
    says = Exit("worker_1", code=-9, stopped=True)
    assert [False, False] == run(says)[1]
    assert [False] == run(says, goes_on=False)[1]


class Hanging(FakeWorkers):
    """Worker 0 does not report its end, and is gone only after it was killed some times."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, Exit("worker_1", code=-9, stopped=True))
        self.kills = 0

    def _hear(self) -> None:
        if read_orders(self._store.get_prefix(ORDER)).membership is not None:
            self._store.drop_owner("worker_1")

    def kill(self, worker: str) -> None:
        self.kills += 1
        if self.kills == 3:
            self._store.drop_owner(worker)


def test_who_was_killed_is_not_asked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container of a worker takes its time to end, and each look costs calls of the store."""
    waits: list[float] = []
    monkeypatch.setattr(generation, "FAILED_WITHIN_S", 0.0)
    monkeypatch.setattr(Gang, "wait", lambda _, seconds: waits.append(seconds))
    store = MemoryStore()
    plan, workers = Plan(of_workers(2), ("train",), "/run", "m"), Hanging(store)
    gang = gang_of(store, workers, plan, queue.SimpleQueue(), Limits(60))
    gang.driver.begin(0)
    run_generation(gang, attempt=1, generation=0, formed=lambda *_: None)
    assert 3 == workers.kills
    assert min(waits) >= 0.2


class Publishing(FakeWorkers):
    """Worker 0 reports its end only when its log is published."""

    def _hear(self) -> None:
        if read_orders(self._store.get_prefix(ORDER)).membership is not None:
            self._store.drop_owner("worker_1")


def test_who_publishes_its_log_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage repeats for half a minute what a NameNode that restarts does not answer."""
    store, clock = MemoryStore(), [0.0]

    def wait(_: Gang, seconds: float) -> None:
        clock[0] += seconds
        if clock[0] > 35:
            stopped = Exit("worker_0", code=-9, stopped=True)
            store.transaction([], [Put(GANG.report("exit", 0, 0), encode(stopped))])

    monkeypatch.setattr(generation, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(Gang, "wait", wait)
    plan = Plan(of_workers(2), ("train",), "/run", "m")
    workers = Publishing(store, Exit("worker_1", code=-9, stopped=True))
    gang = gang_of(store, workers, plan, queue.SimpleQueue(), Limits(60))
    gang.driver.begin(0)
    went = run_generation(gang, attempt=1, generation=0, formed=lambda *_: None)
    assert ({0}, {1}) == (set(went.exits), set(went.lost))


def test_the_benchmark_of_many_workers_runs_with_this_launcher() -> None:
    """Nothing else notices if the launcher's functions no longer fit the script that measures."""
    tools = Path(__file__).parents[4] / "tools"
    script = tools / "bench/src/audioloom_bench/launching/many_workers.py"
    command = [sys.executable, str(script), "3", "5"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert [json.loads(line)["size"] for line in ran.stdout.splitlines()] == [3, 5]
