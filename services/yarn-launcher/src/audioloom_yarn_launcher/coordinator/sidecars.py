"""Those beside the gang: each starts, ends and is started anew by itself, and disturbs nobody.

They are asked for when the gang is first complete, so that they take no room from it before. The
coordinator looks after them whenever it looks at anything: nothing here waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from audioloom_yarn_launcher.coordinator.failure_detector import Silence
from audioloom_yarn_launcher.coordinator.timeouts import Forming, Limits, patience, pause_s
from audioloom_yarn_launcher.rendezvous.arrivals import missing_text
from audioloom_yarn_launcher.rendezvous.backend import Workers
from audioloom_yarn_launcher.rendezvous.causes import REPEATING, TRY_AGAIN, Loss, describe_end
from audioloom_yarn_launcher.rendezvous.kv import Delete, Equals, KeyValueStore, Missing, Put
from audioloom_yarn_launcher.rendezvous.messages import (
    BEAT_BESIDE,
    BESIDE,
    RANKS,
    End,
    Exit,
    Member,
    Plan,
    Reports,
    Roster,
    encode,
    end_key,
    exit_key,
    first_key,
    generation_key,
    outcome_key,
    page_key,
    rank_key,
    read_reports,
    ready_key,
    roster_key,
    scope_beside,
)
from audioloom_yarn_launcher.rendezvous.roles import Group, beside, by_rank

KNOWN_WITHIN_S = 10.0

Happening = Literal["started", "shown", "ended"]
Phase = Literal["idle", "asked", "runs", "gone", "pauses", "over"]


@dataclass(frozen=True)
class News:
    """Something that happened to one beside the gang.

    Args:
        what: its process was started, its page answers, or its process has ended.
        rank: whose.
        attempt: of the gang, in which the process was started.
        member: who runs it; None if nobody came to.
        page: where it is seen, once it answers.
        exit: how the process ended, if somebody could say.
        why: the same in words, to go on with a subject; "" if it ended well.
        again: it is to be started anew.
    """

    what: Happening
    rank: int
    attempt: int
    member: Member | None = None
    page: str = ""
    exit: Exit | None = None
    why: str = ""
    again: bool = False


@dataclass
class _One:
    """How one of them is.

    Args:
        rank: its.
        group: it is one of.
        workers: where its agent comes from.
        phase: idle before the gang is first complete; then asked for; runs; gone, and not known
            why; pauses before it is asked for again; over for good.
        number: of its own generations.
        restarts: how often it was started anew.
        attempt: of the gang, in which its process was started last.
        member: who runs it.
        page: that its process shows.
        forming: since when it is asked for.
        until: when its phase is over, by the monotonic clock.
        exit: how it ended for good.
    """

    rank: int
    group: Group
    workers: Workers
    phase: Phase = "idle"
    number: int = -1
    restarts: int = 0
    attempt: int = 0
    member: Member | None = None
    page: str = ""
    forming: Forming = field(default_factory=lambda: Forming(0.0))
    until: float = 0.0
    exit: Exit | None = None

    @property
    def scope(self) -> str:
        return scope_beside(self.rank)


class Beside:
    """All of them.

    Args:
        store: where they hear and say everything.
        plan: of the run.
        limits: of how long they may take to come.
        workers: makes the workers of a role.
        tell: takes what happens.
    """

    def __init__(
        self,
        store: KeyValueStore,
        plan: Plan,
        limits: Limits,
        workers: Callable[[Group], Workers],
        tell: Callable[[News], None],
    ) -> None:
        self._store, self._plan, self._limits, self._tell = store, plan, limits, tell
        self._roster: Roster | None = None
        self._silence = Silence(time.monotonic())
        made = {group.role: workers(group) for group in beside(plan.groups)}
        self._workers = tuple(made.values())
        self._all = [
            _One(rank, group, made[group.role])
            for rank, group in enumerate(by_rank(plan.groups))
            if group.beside
        ]

    def gang_is_complete(self, roster: Roster) -> None:
        """Start those that never were; what is started from now on is told of this gang."""
        self._roster = roster
        for one in self._all:
            if one.phase == "idle":
                self._ask_for(one)

    def tend(self) -> None:
        """Look after each of them."""
        if not any(one.phase in ("asked", "runs", "gone", "pauses") for one in self._all):
            return
        keys = self._store.get_prefix(BESIDE)
        frozen = self._frozen()
        for one in self._all:
            reports = read_reports(keys, one.number, one.scope)
            match one.phase:
                case "asked":
                    self._meet(one, reports)
                case "runs":
                    self._watch(one, reports, frozen)
                case "gone":
                    self._find_out(one)
                case "pauses" if time.monotonic() >= one.until:
                    one.restarts += 1
                    self._ask_for(one)

    def exits(self) -> dict[int, Exit]:
        """How those ended that are over for good, by rank."""
        return {one.rank: one.exit for one in self._all if one.exit is not None}

    def let_end(self, grace_s: float) -> None:
        """Tell all to end; none is started any more."""
        for one in self._all:
            if one.phase == "runs":
                end = Put(end_key(one.number, one.scope), encode(End(grace_s)))
                self._store.transaction([], [end])
            elif one.phase != "over":
                one.phase = "over"
        for one in self._all:
            one.group = replace(one.group, max_restarts=0)

    @property
    def running(self) -> bool:
        """Whether one of them has not yet said how its process ended."""
        return any(one.phase in ("runs", "gone") for one in self._all)

    def kill(self) -> None:
        """End those that still run, as they do not by themselves."""
        for one in self._all:
            if one.phase == "runs" and one.member is not None:
                one.workers.kill(one.member.id)

    def leave(self) -> None:
        """Tell their agents to leave."""
        orders = [Put(outcome_key(one.scope), "over") for one in self._all]
        if orders:
            self._store.transaction([], orders)

    def close(self) -> None:
        """See that they did."""
        for workers in self._workers:
            workers.close()

    def _ask_for(self, one: _One) -> None:
        one.number, old = one.number + 1, one.number
        forget = [key(old, one.scope) for key in (roster_key, end_key, first_key)]
        forget += [key(old, one.rank, one.scope) for key in (ready_key, exit_key, page_key)]
        number = Put(generation_key(one.scope), str(one.number))
        self._store.transaction([], [number, *map(Delete, forget)])
        one.phase, one.member, one.page = "asked", None, ""
        one.forming = Forming(time.monotonic(), patience=patience())
        one.workers.fill()

    def _meet(self, one: _One, reports: Reports) -> None:
        """Start its process as soon as its agent is there."""
        member, roster = reports.ready.get(one.rank), self._roster
        assert roster is not None  # noqa: S101 - or it were idle
        if member is not None:
            told = replace(roster, beside=member, again=one.attempt == roster.attempt)
            still = Equals(ready_key(one.number, one.rank, one.scope), encode(member))
            key = roster_key(one.number, one.scope)
            if self._store.transaction([Missing(key), still], [Put(key, encode(told))]):
                one.phase, one.member, one.attempt = "runs", member, roster.attempt
                self._tell(self._news(one, "started"))
        elif (loss := self._lost_before_it_came(one)) is not None:
            self._end(one, why=f"was lost before it came: {loss.text}", loss=loss)
        else:
            self._wait_for(one)

    def _lost_before_it_came(self, one: _One) -> Loss | None:
        held = self._held(one)
        lost = one.workers.lost().items()
        return next((loss for worker, loss in lost if held in (None, worker)), None)

    def _held(self, one: _One) -> str | None:
        return self._store.get_prefix(RANKS).get(rank_key(one.rank))

    def _wait_for(self, one: _One) -> None:
        """But not for ever."""
        unplaced = 0 if one.forming.placed is not None else one.workers.unplaced()
        one.forming = one.forming.seen(time.monotonic(), unplaced=unplaced)
        left = one.forming.left(self._limits, time.monotonic())
        if left is not None and left <= 0:
            held = self._held(one)
            rows = one.workers.absent([] if held is None else [held])
            one.group = replace(one.group, max_restarts=0)  # waiting longer would help nobody
            self._end(one, why=f"did not come in time ({missing_text(rows)})")

    def _watch(self, one: _One, reports: Reports, frozen: Mapping[str, float]) -> None:
        """See what becomes of its process."""
        member, end = one.member, reports.exits.get(one.rank)
        assert member is not None  # noqa: S101 - it runs
        if reports.page and not one.page:
            one.page = reports.page
            self._tell(self._news(one, "shown"))
        if end is not None:
            self._end(one, end, (end.why or describe_end(end.code or 0)) if end.failed else "")
        elif reports.ready.get(one.rank) != member:
            one.phase, one.until = "gone", time.monotonic() + KNOWN_WITHIN_S
        elif member.id in frozen:
            one.workers.kill(member.id)
            silent = f"its agent had said nothing for {frozen[member.id]:.0f} s"
            self._end(one, why=f"was lost: {silent}")

    def _find_out(self, one: _One) -> None:
        """Why its agent is gone: the cluster knows a moment later."""
        assert one.member is not None  # noqa: S101 - it ran
        loss = one.workers.lost().get(one.member.id)
        if loss is not None:
            self._end(one, why=f"was lost: {loss.text}", loss=loss)
        elif time.monotonic() >= one.until:
            self._end(one, why="was lost: its keys vanished, and nothing is known of its agent")

    def _end(
        self, one: _One, end: Exit | None = None, why: str = "", loss: Loss | None = None
    ) -> None:
        """Its process has ended, or nobody came to start it."""
        code = end.code if end is not None else loss.exit_code if loss is not None else TRY_AGAIN
        again = bool(why) and one.restarts < one.group.max_restarts and code not in REPEATING
        self._tell(replace(self._news(one, "ended"), exit=end, why=why, again=again))
        if again:
            one.phase, one.until = "pauses", time.monotonic() + pause_s(one.restarts)
            return
        member = one.member.id if one.member is not None else ""
        one.exit = end or Exit(member, code=code, stopped=False, why=why)
        one.phase = "over"
        self._store.transaction([], [Put(outcome_key(one.scope), "over")])  # give its place back

    def _news(self, one: _One, what: Happening) -> News:
        return News(what, one.rank, one.attempt, one.member, one.page)

    def _frozen(self) -> Mapping[str, float]:
        """Whose agents have said nothing for too long, and how long."""
        at = time.monotonic()
        if self._silence.due(at):
            beats = self._store.get_prefix(BEAT_BESIDE)
            counts = {key.removeprefix(BEAT_BESIDE): count for key, count in beats.items()}
            self._silence = self._silence.heard(counts, at)
        return self._silence.longer(self._plan.frozen_s)
