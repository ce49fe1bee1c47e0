import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put
from audioloom_yarn_launcher.rendezvous.messages import (
    GANG,
    PLAN,
    RANKS,
    WORKER,
    Plan,
    encode,
    read_reports,
)
from audioloom_yarn_launcher.rendezvous.roles import Group, of_workers
from audioloom_yarn_launcher.worker.agent import AgentContext, Worker

PLAN_OF_TWO = Plan(of_workers(2), ("true",), "file:///nowhere", "marker")


class Meddling(MemoryStore):
    """A store in which something happens just before a transaction that is asked for."""

    meddle: Callable[[Sequence[Put]], None] = staticmethod(lambda _: None)

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Let it happen, then do as asked."""
        self.meddle(operations)
        return super().transaction(conditions, operations)


def put(store: MemoryStore, key: str, value: str) -> None:
    MemoryStore.transaction(store, [], [Put(key, value)])


def in_thread(
    store: MemoryStore, name: str, prefer: int = 0, role: str | None = None
) -> threading.Thread:
    """A worker that prepares and leaves; it starts nothing here."""
    worker = Worker(store, name, prefer, AgentContext("here", "127.0.0.1", {}), role)

    def live() -> None:
        worker.run()
        worker.end()

    thread = threading.Thread(target=live)
    thread.start()
    return thread


def test_a_worker_claims_a_rank_of_its_role() -> None:
    """Whatever it prefers is counted among those."""
    store = MemoryStore()
    roles = (Group("chief", 1), Group("worker", 2), Group("ps", 1))
    put(store, PLAN, encode(replace(PLAN_OF_TWO, roles=roles)))
    claims = [("chief", 5), ("worker", 0), ("ps", 0), ("worker", 3)]
    threads = [in_thread(store, f"{role}-{n}", n, role) for role, n in claims]
    while len(store.get_prefix(RANKS)) < len(claims):
        time.sleep(0.01)
    held = {key.removeprefix(RANKS): value for key, value in store.get_prefix(RANKS).items()}
    put(store, GANG.order("outcome"), "over")
    for thread in threads:
        thread.join()
    assert ("chief-5", "ps-0") == (held["0"], held["3"])
    assert {"worker-0", "worker-3"} == {held["1"], held["2"]}


def test_a_worker_is_not_ready_for_a_generation_that_has_passed() -> None:
    """The generation rises between its look and its word: the word does not count."""
    store = Meddling()
    put(store, PLAN, encode(PLAN_OF_TWO))
    put(store, GANG.order("generation"), "0")

    def raise_once(operations: Sequence[Put]) -> None:
        if operations[0].key == GANG.report("ready", 0, 0):
            put(store, GANG.order("generation"), "1")

    store.meddle = raise_once  # type: ignore[method-assign]
    thread = in_thread(store, "one")
    wait_for(store, GANG.report("ready", 1, 0))
    assert {} == read_reports(store.get_prefix(WORKER), 0).ready
    put(store, GANG.order("outcome"), "over")
    thread.join(60)
    assert not thread.is_alive()


def test_a_worker_that_lost_its_rank_claims_another() -> None:
    """A stale worker does not speak for a rank that is another's now."""
    store = Meddling()
    put(store, PLAN, encode(PLAN_OF_TWO))
    put(store, GANG.order("generation"), "0")

    def steal_once(operations: Sequence[Put]) -> None:
        if operations[0].key == GANG.report("ready", 0, 0):
            put(store, f"{RANKS}0", "thief")

    store.meddle = steal_once  # type: ignore[method-assign]
    thread = in_thread(store, "one")
    wait_for(store, GANG.report("ready", 0, 1))
    reports = read_reports(store.get_prefix(WORKER), 0)
    assert ({0: "thief", 1: "one"}, [1]) == (reports.ranks, list(reports.ready))
    put(store, GANG.order("outcome"), "over")
    thread.join(60)


def test_a_worker_too_many_waits_for_a_rank() -> None:
    """It takes over when one vanishes."""
    store = MemoryStore()
    put(store, PLAN, encode(PLAN_OF_TWO))
    store.transaction([], [Put(f"{RANKS}0", "a", "a"), Put(f"{RANKS}1", "b", "b")])
    thread = in_thread(store, "spare")
    store.drop_owner("b")
    wait_for(store, f"{RANKS}1")
    assert {0: "a", 1: "spare"} == read_reports(store.get_prefix(WORKER), 0).ranks
    put(store, GANG.order("outcome"), "over")
    thread.join(60)


def wait_for(store: MemoryStore, key: str) -> Any:
    """Wait until the key is there."""
    change = threading.Event()
    store.subscribe(key, change.set)
    while key not in store.get_prefix(key):
        assert change.wait(60), f"{key} never came"
        change.clear()


HANGS = """
import threading
from audioloom_yarn_launcher.worker import agent as worker
from audioloom_yarn_launcher.local.kv_store import MemoryStore

class Deaf(MemoryStore):
    def subscribe(self, prefix, hint):
        print("hangs", flush=True)
        threading.Event().wait()

worker.END_WITHIN_S = 0
context = worker.AgentContext("here", "127.0.0.1", {}, stop_grace_s=0)
worker.work(worker.Worker(Deaf(), "x", 0, context))
"""


def test_a_worker_whose_store_never_answers_ends_when_it_is_told_to() -> None:
    """YARN's SIGKILL reaches the process that guards it, and its container is gone."""
    with subprocess.Popen([sys.executable, "-c", HANGS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"hangs\n" == process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert 143 == process.wait()
