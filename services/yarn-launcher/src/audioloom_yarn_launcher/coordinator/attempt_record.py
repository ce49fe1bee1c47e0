"""Make the records of an attempt from the messages of its generation."""

import signal
from collections.abc import Iterator, Sequence

from audioloom_yarn_launcher.coordinator.context import GenerationResult
from audioloom_yarn_launcher.rendezvous.causes import Cause, describe_end
from audioloom_yarn_launcher.rendezvous.messages import Member, Membership
from audioloom_yarn_launcher.rendezvous.roles import Group, tasks
from audioloom_yarn_launcher.runs import attempts
from audioloom_yarn_launcher.runs.layout import now


def members_record(
    membership: Membership, groups: Sequence[Group], localising_s: float
) -> attempts.AttemptMembers:
    """Make the record of the members of a complete gang."""
    workers = _workers(membership.members, groups)
    return attempts.AttemptMembers(
        attempt=membership.attempt,
        formed=now(),
        localising_s=round(localising_s, 3),
        workers=tuple(workers),
    )


def end_record(
    started: attempts.AttemptStarted,
    went: GenerationResult,
    cause: Cause | None,
    groups: Sequence[Group],
    *,
    restarts: bool,
) -> attempts.AttemptEnd:
    """Make the record of the end of an attempt that this coordinator watched."""
    members = went.membership.members if went.membership else ()
    workers = [_worker_end(each, went, started.attempt) for each in _workers(members, groups)]
    return started.end(
        cause,
        told=went.cause,
        ended=now(),
        restarts=restarts,
        workers=tuple(workers),
        arrivals=went.arrivals,
    )


def _worker_end(
    known: attempts.WorkerRecord, went: GenerationResult, attempt: int
) -> attempts.WorkerEnd:
    rank, worker = known.rank, known.model_dump()
    end = went.exits.get(rank)
    if end is None:
        loss = went.lost.get(rank)
        if loss is None:
            return attempts.WorkerEnd(**worker, end="stopped", cause="did not answer")
        return attempts.WorkerEnd(**worker, end="lost", cause=loss.text, reason=loss.reason)
    how: attempts.WorkerOutcome
    if end.code is None:
        how, cause = "not-started", "was not started: the gang ended first"
    elif end.stopped:
        by = f"exit code {end.code}" if end.signal is None else signal.Signals(end.signal).name
        how, cause = "stopped", f"was ended by the launcher ({by})"
    else:
        how = "finished" if end.code == 0 else "failed"
        cause = end.text or describe_end(end.code)
    facts = ("pid", "started", "ended", "exit_code", "signal", "reason")
    worker |= {name: getattr(end, name) for name in facts}
    log = None if end.pid is None else f"logs/{rank}/{attempt}.log"
    return attempts.WorkerEnd(**worker, end=how, cause=cause, log=log)


def _workers(members: Sequence[Member], groups: Sequence[Group]) -> Iterator[attempts.WorkerRecord]:
    for rank, (member, (group, index)) in enumerate(zip(members, tasks(groups), strict=False)):
        yield attempts.WorkerRecord(
            rank=rank,
            role=group.role,
            index=index,
            worker=member.id,
            host=member.host,
            worker_pid=member.pid,
            address=member.address,
            exposed=member.exposed,
        )
