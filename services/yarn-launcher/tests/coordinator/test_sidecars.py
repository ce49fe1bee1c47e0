"""Those beside a gang, with a store and agents of this process: what no real one does on demand."""

from collections.abc import Callable, Collection

import pytest
from audioloom_yarn_launcher.coordinator import sidecars
from audioloom_yarn_launcher.coordinator.sidecars import Beside, News
from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import Loss
from audioloom_yarn_launcher.rendezvous.kv import Put
from audioloom_yarn_launcher.rendezvous.messages import (
    Exit,
    Member,
    Plan,
    Roster,
    beat_key,
    encode,
    exit_key,
    outcome_key,
    page_key,
    rank_key,
    read_orders,
    ready_key,
    scope_beside,
)
from audioloom_yarn_launcher.rendezvous.roles import Group
from launcher_processes import until

SCOPE = scope_beside(1)
GANG = Roster(1, 0, (Member("worker-0", "n0:1", "n0", 1),))
LATER = Roster(2, 1, (Member("worker-1", "n1:1", "n1", 1),))


class Agents:
    """Places of one role, in which agents are as the test says."""

    def __init__(self) -> None:
        self.asked = 0
        self.killed: list[str] = []
        self.gone: dict[str, Loss] = {}
        self.closed = False

    def fill(self) -> None:
        self.asked += 1
        self.gone = {}

    def lost(self) -> dict[str, Loss]:
        return self.gone

    def why_gone(self, worker: str) -> Loss:
        raise AssertionError(f"the gang would wait for what is known of {worker}")

    def unplaced(self) -> int:
        return 0

    def absent(self, present: Collection[str]) -> list[Arrival]:
        return [Arrival("evaluator-0", "silent", reason="it hangs")]

    def kill(self, worker: str) -> None:
        self.killed.append(worker)

    def close(self) -> None:
        self.closed = True


class Stage:
    """A store, an evaluator beside one worker, and what was told of it."""

    def __init__(self, restarts: int = 1, registration_s: float = 60, frozen_s: float = 60) -> None:
        groups = Group("worker", 1), Group("evaluator", 1, may_fail=True, max_restarts=restarts)
        self.store, self.agents, self.news = MemoryStore(), Agents(), list[News]()
        plan = Plan(2, ("train",), "/run", "m", roles=groups, frozen_s=frozen_s)
        self.all = Beside(
            *(self.store, plan, Limits(registration_s)), lambda _: self.agents, self.news.append
        )

    def put(self, key: str, text: str, owner: str | None = None) -> None:
        self.store.transaction([], [Put(key, text, owner)])
        self.all.tend()

    def comes(self, worker: str, number: int) -> None:
        """An agent claims the rank, and is ready."""
        member = Member(worker, f"n2:{number}", "n2", 1)
        self.store.transaction([], [Put(rank_key(1), worker, worker)])
        self.put(ready_key(number, 1, SCOPE), encode(member), worker)

    def ends(self, worker: str, number: int, code: int, *, stopped: bool = False) -> None:
        end = Exit(worker, code=code, stopped=stopped)
        self.put(exit_key(number, 1, SCOPE), encode(end))

    @property
    def told(self) -> list[tuple[str, str, bool]]:
        return [(each.what, each.why, each.again) for each in self.news]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pauses."""
    monkeypatch.setattr(sidecars, "pause_s", lambda _: 0.0)


def test_nobody_is_asked_for_before_the_gang_is_complete() -> None:
    """So that none of them takes the place that the gang waits for."""
    stage = Stage()
    stage.all.tend()
    assert 0 == stage.agents.asked
    stage.all.gang_is_complete(GANG)
    assert 1 == stage.agents.asked


def test_who_fails_too_often_is_given_up_and_gives_its_place_back() -> None:
    """The exit is that of the last time; between, it is told of the gang that there is then."""
    stage = Stage(restarts=1)
    stage.all.gang_is_complete(GANG)
    stage.comes("evaluator-0", 0)
    stage.ends("evaluator-0", 0, 3)
    assert {} == stage.all.exits()
    stage.all.gang_is_complete(LATER)
    stage.all.tend()
    stage.comes("evaluator-0", 1)
    orders = read_orders(stage.store.get_prefix(SCOPE), SCOPE)
    assert orders.roster is not None
    assert (LATER.members, 2, "evaluator-0", False) == (
        *(orders.roster.members, orders.roster.attempt),
        *(getattr(orders.roster.of(1), "id", ""), orders.roster.again),
    )
    stage.ends("evaluator-0", 1, 4)
    assert [4] == [end.code for end in stage.all.exits().values()]
    assert outcome_key(SCOPE) in stage.store.get_prefix(SCOPE)
    assert [
        ("started", "", False),
        ("ended", "ended with exit code 3", True),
        ("started", "", False),
        ("ended", "ended with exit code 4", False),
    ] == stage.told


def test_what_would_only_repeat_is_not_started_anew() -> None:
    """As with the gang."""
    stage = Stage(restarts=5)
    stage.all.gang_is_complete(GANG)
    stage.comes("evaluator-0", 0)
    stage.ends("evaluator-0", 0, 78)
    assert ("ended", "ended with exit code 78", False) == stage.told[-1]


def test_who_vanishes_is_replaced_as_soon_as_it_is_known_why() -> None:
    """Nobody waits for that, and the process that follows goes on with the log of that attempt."""
    stage = Stage()
    stage.all.gang_is_complete(GANG)
    stage.comes("evaluator-0", 0)
    stage.store.drop_owner("evaluator-0")
    stage.all.tend()
    stage.all.tend()
    assert 1 == stage.agents.asked
    stage.agents.gone = {"evaluator-0": Loss("its container was killed")}
    stage.all.tend()
    assert ("ended", "was lost: its container was killed", True) == stage.told[-1]
    stage.all.tend()
    assert 2 == stage.agents.asked
    stage.comes("evaluator-1", 1)
    roster = read_orders(stage.store.get_prefix(SCOPE), SCOPE).roster
    assert roster is not None
    assert roster.again


def _never_comes(stage: Stage) -> None:
    stage.all.tend()


def _freezes(stage: Stage) -> None:
    stage.comes("evaluator-0", 0)
    stage.store.transaction([], [Put(beat_key("evaluator-0", beside=True), "7", "evaluator-0")])


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (_never_comes, "did not come in time (came: none; evaluator-0: it hangs)"),
        (_freezes, "was lost: its agent had said nothing for "),
    ],
)
def test_who_never_comes_or_freezes_is_given_up(does: Callable[[Stage], None], why: str) -> None:
    """The gang works on all the while."""
    stage = Stage(restarts=0, registration_s=0.2 if does is _never_comes else 60, frozen_s=0.5)
    stage.all.gang_is_complete(GANG)
    does(stage)

    def over() -> bool:
        stage.all.tend()
        return bool(stage.all.exits())

    until(over, "it is given up")  # type: ignore[attr-defined]
    what, told, again = stage.told[-1]
    assert ("ended", False) == (what, again)
    assert told.startswith(why)
    assert (["evaluator-0"] if does is _freezes else []) == stage.agents.killed


def test_a_page_is_told_once() -> None:
    """However often one looks."""
    stage = Stage()
    stage.all.gang_is_complete(GANG)
    stage.comes("evaluator-0", 0)
    for _ in range(2):
        stage.put(page_key(0, 1, SCOPE), "http://n2:6006/", "evaluator-0")
    assert ["", "http://n2:6006/"] == [each.page for each in stage.news]


def test_at_the_end_all_are_told_to_end_and_nobody_is_started_anew() -> None:
    """Also if one fails at that moment."""
    stage = Stage(restarts=5)
    stage.all.gang_is_complete(GANG)
    stage.comes("evaluator-0", 0)
    stage.all.let_end(5)
    assert read_orders(stage.store.get_prefix(SCOPE), SCOPE).end is not None
    assert stage.all.running
    stage.ends("evaluator-0", 0, -15, stopped=True)
    assert not stage.all.running
    assert ("ended", "", False) == stage.told[-1]
    waiting = Stage()
    waiting.all.gang_is_complete(GANG)
    waiting.all.let_end(5)
    waiting.comes("evaluator-0", 0)
    assert [] == waiting.news
