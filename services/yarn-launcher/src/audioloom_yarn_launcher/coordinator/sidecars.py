"""The sidecars of a gang: each starts, ends and restarts alone and never disturbs the gang.

Sidecars are requested once the gang is first complete, so they take no container from it. The
coordinator looks after the sidecars whenever it waits, so nothing here may block.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from audioloom_yarn_launcher.coordinator.driver import Driver
from audioloom_yarn_launcher.coordinator.timeouts import FailureDetector, FormationTimer, pause_s
from audioloom_yarn_launcher.rendezvous import messages
from audioloom_yarn_launcher.rendezvous.backend import KeyValueStore, Workers, missing_text
from audioloom_yarn_launcher.rendezvous.causes import REPEATING, TRY_AGAIN, WorkerLost, describe_end
from audioloom_yarn_launcher.rendezvous.limits import Limits
from audioloom_yarn_launcher.rendezvous.roles import Group, tasks
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.sidecar_events import Event, SidecarEvent

KNOWN_WITHIN_S = 10.0

Phase = Literal[
    "idle",  # the gang was never complete
    "requested",
    "running",
    "gone",  # its keys have vanished, and the cause is not known yet
    "paused",  # before it is requested again
    "over",  # for good
]

NOBODY = messages.Member(id="", address="", host="", pid=0)


@dataclass
class _Sidecar:
    """The state of one sidecar.

    Args:
        attempt: the gang's attempt in which its last process was started.
        until: end of its phase, by the monotonic clock.
        exit: its final end.
    """

    rank: int
    group: Group
    index: int
    driver: Driver
    phase: Phase = "idle"
    generation: int = -1
    restarts: int = 0
    attempt: int = 0
    member: messages.Member = NOBODY
    page: str = ""
    timer: FormationTimer | None = None
    until: float = 0.0
    exit: messages.Exit | None = None

    @property
    def workers(self) -> Workers:
        return self.driver.workers


class Sidecars:
    """All sidecars of a run; *workers* makes the workers of a role."""

    def __init__(
        self,
        store: KeyValueStore,
        plan: messages.Plan,
        limits: Limits,
        workers: Callable[[Group], Workers],
        record: Callable[[SidecarEvent], None],
    ) -> None:
        self._store, self._limits, self._record = store, limits, record
        self._membership: messages.Membership | None = None
        self._detector = FailureDetector(store, messages.SIDECAR_HEARTBEAT, plan.frozen_s)
        made = {group.role: workers(group) for group in plan.roles if group.sidecar}
        self._workers = tuple(made.values())
        self._all = [
            _Sidecar(
                rank,
                group,
                at,
                Driver(store, made[group.role], [rank], messages.sidecar_scope(rank)),
            )
            for rank, (group, at) in enumerate(tasks(plan.roles))
            if group.sidecar
        ]

    def gang_is_complete(self, membership: messages.Membership) -> None:
        """Start the sidecars; their processes get this membership from the next start on."""
        self._membership = membership
        for one in self._all:
            if one.phase == "idle":
                self._request(one)

    def tend(self) -> None:
        """Look after each sidecar."""
        if all(one.phase in ("idle", "over") for one in self._all):
            return
        keys, frozen = self._store.get_prefix(messages.SIDECAR), self._detector.frozen()
        for one in self._all:
            reports = messages.read_reports(keys, one.generation, one.driver.scope)
            match one.phase:
                case "requested":
                    self._start(one, reports)
                case "running":
                    self._watch(one, reports, frozen)
                case "gone":
                    self._find_cause(one)
                case "paused" if time.monotonic() >= one.until:
                    one.restarts += 1
                    self._request(one)

    def exits(self) -> dict[int, messages.Exit]:
        """The exits of the sidecars that are over for good, by rank."""
        return {one.rank: one.exit for one in self._all if one.exit is not None}

    def let_end(self, grace_s: float) -> None:
        """Order all sidecars to end, without further restarts."""
        for one in self._all:
            if one.phase == "running":
                one.driver.end(one.generation, grace_s)
            else:
                one.phase = "over"
            one.group = replace(one.group, max_restarts=0)

    @property
    def running(self) -> bool:
        """Tell whether a sidecar has not yet reported the end of its process."""
        return any(one.phase in ("running", "gone") for one in self._all)

    def kill(self) -> None:
        """Kill the sidecars that have not ended."""
        for one in self._all:
            if one.phase == "running":
                one.workers.kill(one.member.id)

    def leave(self) -> None:
        """Order the agents of the sidecars to leave."""
        for one in self._all:
            one.driver.close()

    def close(self) -> None:
        """Wait until the agents of the sidecars have left."""
        for workers in self._workers:
            workers.close()

    def _request(self, one: _Sidecar) -> None:
        one.generation += 1
        one.phase, one.member, one.page = "requested", NOBODY, ""
        one.driver.begin(one.generation)
        one.timer = FormationTimer(one.workers.pending, self._limits)

    def _start(self, one: _Sidecar, reports: messages.Reports) -> None:
        member, gang = reports.ready.get(one.rank), self._membership
        if member is not None and gang is not None:
            told = replace(gang, sidecar=member, again=one.attempt == gang.attempt)
            if one.driver.freeze(one.generation, {one.rank: member}, told):
                one.phase, one.member, one.attempt = "running", member, gang.attempt
                self._put(one, "started")
            return
        holder = self._store.get_prefix(messages.RANKS).get(messages.GANG.report("rank", one.rank))
        lost = one.workers.exited().items()
        loss = next((each for worker, each in lost if holder in (None, worker)), None)
        if loss is not None:
            self._end(one, cause=f"was lost before it registered: {loss.text}", loss=loss)
        elif one.timer is not None and one.timer.left() <= 0:
            rows = one.workers.unregistered([holder] if holder else [])
            one.group = replace(one.group, max_restarts=0)  # a longer wait would not help
            self._end(one, cause=f"did not register in time ({missing_text(rows)})")

    def _watch(self, one: _Sidecar, reports: messages.Reports, frozen: Mapping[str, float]) -> None:
        end, worker = reports.exits.get(one.rank), one.member.id
        if reports.page and not one.page:
            one.page = reports.page
            self._put(one, "ready")
        if end is not None:
            self._end(one, end, (end.text or describe_end(end.code or 0)) if end.failed else "")
        elif reports.ready.get(one.rank) != one.member:
            one.phase, one.until = "gone", time.monotonic() + KNOWN_WITHIN_S
        elif worker in frozen:
            one.workers.kill(worker)
            self._end(one, cause=f"was lost: no heartbeat for {frozen[worker]:.0f} s")

    def _find_cause(self, one: _Sidecar) -> None:
        loss = one.workers.exited().get(one.member.id)
        if loss is not None:
            self._end(one, cause=f"was lost: {loss.text}", loss=loss)
        elif time.monotonic() >= one.until:
            self._end(one, cause="was lost: its keys vanished, and nothing is known of its agent")

    def _end(
        self,
        one: _Sidecar,
        end: messages.Exit | None = None,
        cause: str = "",
        loss: WorkerLost | None = None,
    ) -> None:
        """Record the end or the failed start of a sidecar's process; restart it if that helps."""
        code = end.code if end is not None else loss.exit_code if loss is not None else TRY_AGAIN
        again = bool(cause) and one.restarts < one.group.max_restarts and code not in REPEATING
        facts = ("pid", "stopped", "exit_code", "signal") if end is not None else ()
        ended = {name: getattr(end, name) for name in facts}
        self._put(one, "ended", cause=cause, restarted=again, **ended)
        if again:
            one.phase, one.until = "paused", time.monotonic() + pause_s(one.restarts)
            return
        one.exit = end or messages.Exit(one.member.id, code=code, stopped=False, text=cause)
        one.phase = "over"
        one.driver.close()  # frees its container

    def _put(self, one: _Sidecar, event: Event, **more: Any) -> None:
        record = SidecarEvent(
            event=event,
            time=now(),
            rank=one.rank,
            role=one.group.role,
            index=one.index,
            attempt=one.attempt,
            worker=one.member.id,
            host=one.member.host,
            address=one.member.address,
            url=one.page,
            **more,
        )
        self._record(record)
