"""The root cause of a run's failure over all its attempts: the first cause, above its echoes.

The coordinator records the first cause by exit codes and their order. Afterwards more is known: the
output of each program, the peers that it missed, and YARN's diagnostics of an application whose
coordinator died before it could record anything.
"""

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from audioloom_yarn_launcher.rendezvous.causes import REPEATING, TRY_AGAIN, Cause, describe_end
from audioloom_yarn_launcher.rendezvous.messages import Reason

_ECHO = re.compile(
    r"PeerLost|UnavailableError|AbortedError|Connection reset by peer|Socket closed|heartbeat"
    r"|CoordinationService|Coordination service|a peer was lost|other workers? (?:was|were) lost"
)
_WEIGHTS = {
    "interrupted": 0,
    "execution": 0,
    "repeats": 1,  # the same command would fail in the same way
    "memory": 2,
    "node": 2,
    "killed": 2,
    "frozen": 2,
    "allocation": 2,
    "registration": 2,
    "failed": 3,
    "launcher": 5,
    "echo": 6,  # the consequence of another worker's end
}
"""The kinds of causes: the lower, the nearer to the root cause."""
_MISSED = 4
_OF_REASONS: dict[Reason, str] = {"memory": "memory", "node-lost": "node", "frozen": "frozen"}
_OF_RECORDS = ("interrupted", "execution", "allocation", "registration")
_SPAN = 3  # at least this many consecutive ranks are written as a range


@dataclass(frozen=True)
class WorkerFacts:
    """The facts on one worker in one attempt.

    Args:
        end: as in `WorkerEnd`; "" without a record.
        cause: the coordinator's message on its end.
        error: the error that its program wrote.
        missed: the peers that its program lost.
    """

    rank: int
    host: str = ""
    end: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""
    reason: Reason = ""
    error: str = ""
    missed: tuple[int, ...] = ()
    step: int | None = None

    @property
    def name(self) -> str:
        """Name of the worker, such as `worker 3 on node-7`."""
        return f"worker {self.rank}" + (f" on {self.host}" if self.host else "")

    @property
    def is_echo(self) -> bool:
        """Tell whether the program's own error blames another worker."""
        return bool(self.missed) or bool(_ECHO.search(self.error))


@dataclass(frozen=True)
class AttemptFacts:
    """The facts on one attempt.

    Args:
        outside: YARN's explanation of the end, if the coordinator could not record it.
    """

    attempt: int
    cause: Cause | None = None
    workers: tuple[WorkerFacts, ...] = ()
    outside: str = ""
    hint: str = ""


@dataclass(frozen=True)
class FailureCause:
    """A cause of a failure.

    Args:
        kind: one of `_WEIGHTS`; decides the advice, and how near the cause is to the root cause.
        text: one sentence without a full stop.
        only_missed: whether only the peers noticed the worker's end.
    """

    attempt: int
    kind: str
    text: str
    rank: int | None = None
    host: str = ""
    only_missed: bool = False
    echoes: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """Distance from the root cause: the lower, the nearer."""
        return _MISSED if self.only_missed else _WEIGHTS[self.kind]

    @property
    def sentence(self) -> str:
        """This cause and its echoes, without a full stop."""
        return "; ".join((self.text, *self.echoes))


def rank_attempt(facts: AttemptFacts) -> FailureCause | None:
    """Find the first cause of an attempt and its echoes; None without a failure."""
    found = [*_by_workers(facts), *_by_attempt(facts)]
    if not found:
        return None
    rank = facts.cause.rank if facts.cause else None
    first = min(found, key=lambda each: (each.weight, each.rank != rank, each.rank or 0))
    return replace(first, echoes=tuple(_echoes(facts, found, first)))


def root_cause(ranked: Sequence[FailureCause]) -> FailureCause | None:
    """Find the cause that ended the run: the last attempt's, or an earlier one that led to it.

    An incomplete gang is the consequence of the earlier attempt that lost a worker, and an attempt
    in which all workers lost each other explains nothing.
    """
    if not ranked:
        return None
    last = ranked[-1]
    if last.kind not in ("echo", "allocation", "registration"):
        return last
    before = [each for each in ranked[:-1] if each.kind not in ("launcher", "echo")]
    return before[-1] if before else last


def alike(ranked: Iterable[FailureCause], first: FailureCause) -> tuple[int, ...]:
    """List the other attempts whose first cause has the kind and rank of *first*."""
    return tuple(
        each.attempt
        for each in ranked
        if each.attempt != first.attempt and (each.kind, each.rank) == (first.kind, first.rank)
    )


def workers_text(ranks: Iterable[int]) -> str:
    """Name workers by rank, such as `worker 3` or `workers 0-2 and 5`."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]}-{run[-1]}"] if len(run) >= _SPAN else map(str, run))
    ]
    if len(parts) == 1:
        return f"worker{'s' if '-' in parts[0] else ''} {parts[0]}"
    return f"workers {', '.join(parts[:-1])} and {parts[-1]}"


def _by_workers(facts: AttemptFacts) -> Iterable[FailureCause]:
    first = facts.cause
    for worker in facts.workers:
        cause = _of_worker(worker, facts.attempt)
        if cause is not None:
            repeats = first is not None and first.repeats and first.rank == worker.rank
            yield replace(cause, kind="repeats") if repeats else cause
    missed = {rank for worker in facts.workers for rank in worker.missed}
    for worker in facts.workers:
        if worker.rank in missed and worker.end == "stopped":
            noticed = [each.rank for each in facts.workers if worker.rank in each.missed]
            text = (
                f"{worker.name} did not answer any more, frozen or cut off from the others:"
                f" {workers_text(noticed)} noticed it"
            )
            where = (worker.rank, worker.host)
            yield FailureCause(facts.attempt, "frozen", text, *where, only_missed=True)


def _of_worker(worker: WorkerFacts, attempt: int) -> FailureCause | None:
    def cause(kind: str, text: str) -> FailureCause:
        return FailureCause(attempt, kind, text, worker.rank, worker.host)

    if worker.end == "lost":
        # The name already contains the host.
        told = worker.cause.replace(f" on {worker.host}", "")
        return cause(_OF_REASONS.get(worker.reason, "killed"), f"{worker.name} was lost: {told}")
    if worker.end == "failed":
        code = worker.exit_code if worker.signal is None else -worker.signal
        code = TRY_AGAIN if code is None else code
        error = f": {worker.error}" if worker.error else ""
        how = worker.cause or describe_end(code)
        return cause(_kind_of_exit(worker, code), f"the process of {worker.name} {how}{error}")
    if worker.end in ("", "stopped") and worker.error:
        text = f"the program of {worker.name} failed: {worker.error}"
        return cause("echo" if worker.is_echo else "failed", text)
    return None


def _kind_of_exit(worker: WorkerFacts, code: int) -> str:
    if worker.reason == "frozen":
        return "frozen"
    if code in REPEATING:
        return "repeats"
    if code in (TRY_AGAIN, -signal.SIGABRT) and not worker.error:
        return "echo"
    if code < 0 and code != -signal.SIGABRT:
        return "killed"
    return "echo" if worker.is_echo else "failed"


def _by_attempt(facts: AttemptFacts) -> Iterable[FailureCause]:
    cause = facts.cause
    if cause is None:
        return
    if told := _end_of_launcher(facts):
        yield FailureCause(facts.attempt, "launcher", told)
    elif cause.kind in _OF_RECORDS:
        yield FailureCause(facts.attempt, cause.kind, cause.text)
    elif cause.rank not in {each.rank for each in facts.workers}:
        yield FailureCause(facts.attempt, "killed", cause.text, cause.rank)


def _end_of_launcher(facts: AttemptFacts) -> str:
    lost = facts.cause if facts.cause and facts.cause.kind == "launcher-lost" else None
    return facts.outside or (lost.text if lost else "")


def _echoes(
    facts: AttemptFacts, found: Iterable[FailureCause], first: FailureCause
) -> Iterable[str]:
    others = [each for each in found if each is not first and each.rank != first.rank]
    own = [each for each in others if each.kind not in ("echo", "launcher")]
    for each in own:
        yield f"besides, {each.text}"
    noted = {each.rank for each in own} | {first.rank}
    followed = [each for each in others if each.kind == "echo" and each.rank not in noted]
    if followed:
        ranks = [each.rank for each in followed if each.rank is not None]
        yield f"{workers_text(ranks)} failed because of it"
        noted |= {*ranks}
    stopped = [each.rank for each in facts.workers if each.end == "stopped"]
    if ranks := [rank for rank in stopped if rank not in noted]:
        yield f"{workers_text(ranks)} stopped because of it"
        noted |= {*ranks}
    if told := _end_of_launcher(facts):
        if first.kind != "launcher":
            yield f"then {told}"
        if ranks := [each.rank for each in facts.workers if each.rank not in noted]:
            yield f"{workers_text(ranks)} ended with it, unseen"
