"""What is put on record of a generation: from the gang's own words to those of the run folder."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from audioloom_yarn_launcher.coordinator.context import Generation
from audioloom_yarn_launcher.rendezvous.causes import Cause, describe_end
from audioloom_yarn_launcher.rendezvous.messages import Exit, Member, Roster
from audioloom_yarn_launcher.rendezvous.roles import Group, task
from audioloom_yarn_launcher.runs.attempts import (
    End,
    Ended,
    FirstCause,
    Formed,
    Outcome,
    Seat,
    Started,
    WorkerEnd,
)
from audioloom_yarn_launcher.runs.clock import now


def formed(roster: Roster, groups: Sequence[Group]) -> Formed:
    """The record that a gang is complete."""
    seats = tuple(_seat(rank, member, groups) for rank, member in enumerate(roster.members))
    return Formed(attempt=roster.attempt, formed=now(), workers=seats)


def ended(
    started: Started,
    went: Generation,
    cause: Cause | None,
    groups: Sequence[Group],
    *,
    restarts: bool,
) -> Ended:
    """The record of an attempt that this launcher has seen the end of."""
    told = went.cause
    return Ended(
        attempt=started.attempt,
        generation=started.generation,
        launch=started.launch,
        started=started.started,
        ended=now(),
        outcome=_outcome(cause),
        exit_code=cause.exit_code if cause else 0,
        cause=FirstCause(
            kind=told.kind,
            text=told.text,
            rank=told.rank,
            exit_code=told.exit_code,
            tail=told.tail,
        )
        if told
        else None,
        restarts=restarts,
        workers=tuple(
            _worker_end(_seat(rank, member, groups), went, started.attempt)
            for rank, member in enumerate(went.roster.members if went.roster else ())
        ),
        arrivals=went.arrivals,
    )


def _outcome(cause: Cause | None) -> Outcome:
    if cause is None:
        return "finished"
    return "interrupted" if cause.kind == "interrupted" else "failed"


def _worker_end(known: Seat, went: Generation, attempt: int) -> WorkerEnd:
    rank, seat = known.rank, known.model_dump()
    end = went.exits.get(rank)
    if end is None:
        loss = went.lost.get(rank)
        if loss is None:
            return WorkerEnd(**seat, end="stopped", cause="did not answer")
        return WorkerEnd(**seat, end="lost", cause=loss.text)
    code = end.code
    return WorkerEnd(
        **seat,
        pid=end.pid,
        started=end.started,
        ended=end.ended,
        end=_how(end),
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        cause=_told(end),
        log=None if end.pid is None else f"logs/{rank}.{attempt}.log",
    )


def _how(end: Exit) -> End:
    if end.code is None:
        return "not-started"
    if end.stopped:
        return "stopped"
    return "finished" if end.code == 0 else "failed"


def _seat(rank: int, member: Member, groups: Sequence[Group]) -> Seat:
    called = task(groups, rank)
    return Seat(
        rank=rank,
        role=called.role,
        index=called.index,
        worker=member.id,
        host=member.host,
        worker_pid=member.pid,
        address=member.address,
        exposed=member.exposed,
    )


def _told(end: Exit) -> str:
    if end.code is None:
        return "was not started: the gang ended first"
    if end.stopped:
        return f"was ended by the launcher ({_name(end.code)})"
    return end.why or describe_end(end.code)


def _name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
