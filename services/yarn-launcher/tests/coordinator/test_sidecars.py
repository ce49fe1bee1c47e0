"""Sidecars with a store and agents of this process, which fail on demand."""

from collections.abc import Callable, Collection

import pytest
from audioloom_yarn_launcher.coordinator import sidecars
from audioloom_yarn_launcher.coordinator.sidecars import Sidecars
from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Arrival, Put
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost
from audioloom_yarn_launcher.rendezvous.messages import (
    RANKS,
    SIDECAR_HEARTBEAT,
    Exit,
    Member,
    Membership,
    Plan,
    encode,
    read_orders,
    sidecar_scope,
)
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.runs.sidecar_events import SidecarEvent
from launcher_processes import until

SCOPE = sidecar_scope(1)
GANG = Membership(1, 0, (Member("worker-0", "n0:1", "n0", 1),))
LATER = Membership(2, 1, (Member("worker-1", "n1:1", "n1", 1),))


class Agents:
    """Places of one role, in which agents are as the test says."""

    def __init__(self) -> None:
        self.asked = 0
        self.killed: list[str] = []
        self.gone: dict[str, WorkerLost] = {}
        self.closed = False

    def request_missing(self) -> None:
        self.asked += 1
        self.gone = {}

    def exited(self) -> dict[str, WorkerLost]:
        return self.gone

    def exit_reason(self, worker: str) -> WorkerLost:
        raise AssertionError(f"the gang would wait for what is known of {worker}")

    def pending(self) -> int:
        return 0

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        return [Arrival("evaluator-0", "unregistered", reason="it hangs")]

    def kill(self, worker: str) -> None:
        self.killed.append(worker)

    def close(self) -> None:
        self.closed = True


class Scene:
    """A store, a worker with an evaluator, and the events of the evaluator."""

    def __init__(self, restarts: int = 1, registration_s: float = 60, frozen_s: float = 60) -> None:
        groups = Group("worker", 1), Group("evaluator", 1, may_fail=True, max_restarts=restarts)
        self.store, self.agents, self.news = MemoryStore(), Agents(), list[SidecarEvent]()
        plan = Plan(groups, ("train",), "/run", "m", frozen_s=frozen_s)
        self.all = Sidecars(
            *(self.store, plan, Limits(registration_s)), lambda _: self.agents, self.news.append
        )

    def put(self, key: str, text: str, owner: str | None = None) -> None:
        self.store.transaction([], [Put(key, text, owner)])
        self.all.tend()

    def comes(self, worker: str, number: int) -> None:
        """An agent claims the rank, and is ready."""
        member = Member(worker, f"n2:{number}", "n2", 1)
        self.store.transaction([], [Put(f"{RANKS}1", worker, worker)])
        self.put(SCOPE.report("ready", number, 1), encode(member), worker)

    def ends(self, worker: str, number: int, code: int, *, stopped: bool = False) -> None:
        end = Exit(worker, code=code, stopped=stopped)
        self.put(SCOPE.report("exit", number, 1), encode(end))

    @property
    def told(self) -> list[tuple[str, str, bool]]:
        return [(each.event, each.cause, each.restarted) for each in self.news]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pauses."""
    monkeypatch.setattr(sidecars, "pause_s", lambda _: 0.0)


def test_nobody_is_asked_for_before_the_gang_is_complete() -> None:
    """So that none of them takes the place that the gang waits for."""
    scene = Scene()
    scene.all.tend()
    assert 0 == scene.agents.asked
    scene.all.gang_is_complete(GANG)
    assert 1 == scene.agents.asked


def test_who_fails_too_often_is_given_up_and_gives_its_place_back() -> None:
    """The exit is that of the last time; between, it is told of the gang that there is then."""
    scene = Scene(restarts=1)
    scene.all.gang_is_complete(GANG)
    scene.comes("evaluator-0", 0)
    scene.ends("evaluator-0", 0, 3)
    assert {} == scene.all.exits()
    scene.all.gang_is_complete(LATER)
    scene.all.tend()
    scene.comes("evaluator-0", 1)
    orders = read_orders(scene.store.get_prefix(SCOPE), SCOPE)
    assert orders.membership is not None
    assert (LATER.members, 2, "evaluator-0", False) == (
        *(orders.membership.members, orders.membership.attempt),
        *(getattr(orders.membership.of(1), "id", ""), orders.membership.again),
    )
    scene.ends("evaluator-0", 1, 4)
    assert [4] == [end.code for end in scene.all.exits().values()]
    assert SCOPE.order("outcome") in scene.store.get_prefix(SCOPE)
    assert [
        ("started", "", False),
        ("ended", "ended with exit code 3", True),
        ("started", "", False),
        ("ended", "ended with exit code 4", False),
    ] == scene.told


def test_what_would_only_repeat_is_not_started_anew() -> None:
    """As with the gang."""
    scene = Scene(restarts=5)
    scene.all.gang_is_complete(GANG)
    scene.comes("evaluator-0", 0)
    scene.ends("evaluator-0", 0, 78)
    assert ("ended", "ended with exit code 78", False) == scene.told[-1]


def test_who_vanishes_is_replaced_as_soon_as_it_is_known_why() -> None:
    """Nobody waits for that, and the process that follows goes on with the log of that attempt."""
    scene = Scene()
    scene.all.gang_is_complete(GANG)
    scene.comes("evaluator-0", 0)
    scene.store.drop_owner("evaluator-0")
    scene.all.tend()
    scene.all.tend()
    assert 1 == scene.agents.asked
    scene.agents.gone = {"evaluator-0": WorkerLost("its container was killed")}
    scene.all.tend()
    assert ("ended", "was lost: its container was killed", True) == scene.told[-1]
    scene.all.tend()
    assert 2 == scene.agents.asked
    scene.comes("evaluator-1", 1)
    membership = read_orders(scene.store.get_prefix(SCOPE), SCOPE).membership
    assert membership is not None
    assert membership.again


def _never_comes(scene: Scene) -> None:
    scene.all.tend()


def _freezes(scene: Scene) -> None:
    scene.comes("evaluator-0", 0)
    scene.store.transaction([], [Put(f"{SIDECAR_HEARTBEAT}evaluator-0", "7", "evaluator-0")])


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (_never_comes, "did not register in time (came: none; evaluator-0: it hangs)"),
        (_freezes, "was lost: no heartbeat for "),
    ],
)
def test_who_never_comes_or_freezes_is_given_up(does: Callable[[Scene], None], why: str) -> None:
    """The gang works on all the while."""
    scene = Scene(restarts=0, registration_s=0.2 if does is _never_comes else 60, frozen_s=0.5)
    scene.all.gang_is_complete(GANG)
    does(scene)

    def over() -> bool:
        scene.all.tend()
        return bool(scene.all.exits())

    until(over, "it is given up")
    what, told, again = scene.told[-1]
    assert ("ended", False) == (what, again)
    assert told.startswith(why)
    assert (["evaluator-0"] if does is _freezes else []) == scene.agents.killed


def test_a_page_is_told_once() -> None:
    """However often one looks."""
    scene = Scene()
    scene.all.gang_is_complete(GANG)
    scene.comes("evaluator-0", 0)
    for _ in range(2):
        scene.put(SCOPE.report("page", 0, 1), "http://n2:6006/", "evaluator-0")
    assert ["", "http://n2:6006/"] == [each.url for each in scene.news]


def test_at_the_end_all_are_told_to_end_and_nobody_is_started_anew() -> None:
    """Also if one fails at that moment."""
    scene = Scene(restarts=5)
    scene.all.gang_is_complete(GANG)
    scene.comes("evaluator-0", 0)
    scene.all.let_end(5)
    assert read_orders(scene.store.get_prefix(SCOPE), SCOPE).end is not None
    assert scene.all.running
    scene.ends("evaluator-0", 0, -15, stopped=True)
    assert not scene.all.running
    assert ("ended", "", False) == scene.told[-1]
    waiting = Scene()
    waiting.all.gang_is_complete(GANG)
    waiting.all.let_end(5)
    waiting.comes("evaluator-0", 0)
    assert [] == waiting.news
