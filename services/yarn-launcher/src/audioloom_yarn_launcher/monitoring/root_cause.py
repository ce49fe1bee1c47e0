"""Why a run ended, over all its attempts: the first cause, ranked above its echoes.

The coordinator tells the first cause as it sees it, from exit codes and from the order in which
they came. Afterwards more is known: what each program said, whom it missed, and what YARN says of
an application whose coordinator died before it could say anything.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audioloom_yarn_launcher.rendezvous.causes import REPEATING, TRY_AGAIN, describe_end

_MEMORY = re.compile(r"([0-9.]+ [KMGT]?B of [0-9.]+ [KMGT]?B) (?:physical|virtual) memory used")
_FROZEN = re.compile(r"\(SIGSTOP\)|\bwas frozen\b")
_ECHO = re.compile(
    r"PeerLost|UnavailableError|AbortedError|Connection reset by peer|Socket closed|heartbeat"
    r"|CoordinationService|Coordination service|a peer was lost|other workers? (?:was|were) lost"
)
STOPPED, VERDICT, KILLED, FAILED, MISSED, UNEXPLAINED, ECHO = range(7)
"""What a finding is: the lower, the nearer to the first cause."""
_AN_ECHO: dict[str, Any] = {"weight": ECHO, "kind": "echo"}
_SPAN = 3  # as many in a row are told by the first and the last


@dataclass(frozen=True)
class WorkerFacts:
    """What is known of one worker in one attempt.

    Args:
        rank: of the worker.
        host: that it ran on.
        end: of `WorkerEnd`, or "" if nobody could put it on record.
        exit_code: of its process.
        signal: that ended its process.
        told: what the coordinator says of its end.
        error: what its program said went wrong.
        missed: the peers that its program says it lost.
        step: how far it was.
    """

    rank: int
    host: str = ""
    end: str = ""
    exit_code: int | None = None
    signal: int | None = None
    told: str = ""
    error: str = ""
    missed: tuple[int, ...] = ()
    step: int | None = None


@dataclass(frozen=True)
class AttemptFacts:
    """What is known of one attempt.

    Args:
        attempt: its number.
        kind: of the cause on record, "" if there is none.
        text: of that cause.
        rank: of that cause.
        exit_code: of that cause.
        workers: what is known of each.
        outside: what YARN says of the application, if the coordinator could not say all.
        mend: what there is to do about that.
    """

    attempt: int
    kind: str = ""
    text: str = ""
    rank: int | None = None
    exit_code: int = 0
    workers: tuple[WorkerFacts, ...] = ()
    outside: str = ""
    mend: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that went wrong.

    Args:
        attempt: in which.
        weight: the lower, the nearer to the first cause.
        text: one sentence without a full stop.
        rank: of the worker, None if it is nobody's alone.
        kind: memory, node, killed, repeats, failed, frozen, interrupted, allocation, registration,
            execution, launcher or echo: what there is to do about it.
        host: where.
    """

    attempt: int
    weight: int
    text: str
    rank: int | None = None
    kind: str = "failed"
    host: str = ""


@dataclass(frozen=True)
class Ranked:
    """An attempt that did not end well: its first cause, and what followed from it."""

    first: Finding
    echoes: tuple[str, ...]

    @property
    def text(self) -> str:
        """Both, in a sentence without a full stop."""
        return "; ".join((self.first.text, *self.echoes))


def rank_attempt(known: AttemptFacts) -> Ranked | None:
    """The first cause of an attempt and its echoes; None if nothing went wrong in it."""
    found = [*_by_workers(known), *_by_the_rest(known)]
    if not found:
        return None
    first = min(found, key=lambda each: (each.weight, each.rank != known.rank, each.rank or 0))
    return Ranked(first, tuple(_echoes(known, found, first)))


def first_of_all(ranked: Sequence[Ranked]) -> Ranked | None:
    """The one that ended the run: that of the last attempt, unless it only followed another.

    An attempt to which not all came follows from the one that lost a worker, and one in which all
    say that they lost each other explains nothing.
    """
    if not ranked:
        return None
    last = ranked[-1]
    if last.first.weight < ECHO and last.first.kind not in ("allocation", "registration"):
        return last
    before = [each for each in ranked[:-1] if each.first.weight < UNEXPLAINED]
    return before[-1] if before else last


def alike(ranked: Iterable[Ranked], first: Finding) -> tuple[int, ...]:
    """The attempts, besides its own, that ended in the same way."""
    return tuple(
        each.first.attempt
        for each in ranked
        if each.first.attempt != first.attempt
        and (each.first.kind, each.first.rank) == (first.kind, first.rank)
    )


def workers_text(ranks: Iterable[int]) -> str:
    """`worker 3`, `workers 0-2 and 5`."""
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


def _by_workers(known: AttemptFacts) -> Iterable[Finding]:
    for worker in known.workers:
        finding = _of_worker(worker, known.attempt)
        if finding is not None and worker.rank == known.rank and known.exit_code in REPEATING:
            finding = replace(finding, weight=VERDICT, kind="repeats")
        if finding is not None:
            yield finding
    missed = {rank for worker in known.workers for rank in worker.missed}
    for worker in known.workers:
        if worker.rank in missed and worker.end == "stopped":
            noticed = [each.rank for each in known.workers if worker.rank in each.missed]
            yield Finding(
                known.attempt,
                MISSED,
                f"{_place(worker)} did not answer any more, frozen or cut off from the others:"
                f" {workers_text(noticed)} noticed it",
                worker.rank,
                "frozen",
                worker.host,
            )


def _of_worker(worker: WorkerFacts, attempt: int) -> Finding | None:
    finding = Finding(attempt, FAILED, "", worker.rank, "failed", worker.host)
    if worker.end == "lost":
        return _of_lost(worker, finding)
    if worker.end == "failed":
        return _of_failed(worker, finding)
    if worker.end in ("", "stopped") and worker.error:
        text = f"the program of {_place(worker)} failed: {worker.error}"
        return replace(finding, text=text, **(_AN_ECHO if _says_echo(worker) else {}))
    return None


def _of_failed(worker: WorkerFacts, finding: Finding) -> Finding:
    code = worker.exit_code if worker.signal is None else -worker.signal
    code = TRY_AGAIN if code is None else code
    said = f": {worker.error}" if worker.error else ""
    how = worker.told or describe_end(code)
    found = replace(finding, text=f"the process of {_place(worker)} {how}{said}")
    if _FROZEN.search(worker.told):
        return replace(found, weight=KILLED, kind="frozen")
    if code in REPEATING:
        return replace(found, weight=VERDICT, kind="repeats")
    if code in (TRY_AGAIN, -signal.SIGABRT) and not said:
        return replace(found, **_AN_ECHO)
    if code < 0 and code != -signal.SIGABRT:
        return replace(found, weight=KILLED, kind="killed")
    return replace(found, **(_AN_ECHO if _says_echo(worker) else {}))


def _says_echo(worker: WorkerFacts) -> bool:
    """Whether a program says that it ended because of another."""
    return bool(worker.missed) or bool(_ECHO.search(worker.error))


def _of_lost(worker: WorkerFacts, finding: Finding) -> Finding:
    told = worker.told
    if match := _MEMORY.search(told):
        used = re.sub(r"\.0\b", "", match[1])
        text = f"{_place(worker)} was killed by YARN for memory: {used}"
        return replace(finding, weight=KILLED, kind="memory", text=text)
    kind = "node" if re.search(r"\bits node\b", told) else "killed"
    kind = "frozen" if _FROZEN.search(told) else kind
    text = f"{_place(worker)} was lost: {told.replace(f' on {worker.host}', '')}"
    return replace(finding, weight=KILLED, kind=kind, text=text)


def _by_the_rest(known: AttemptFacts) -> Iterable[Finding]:
    """What is on record, or known of the application, and no worker's own end."""
    if known.outside:
        yield Finding(known.attempt, UNEXPLAINED, known.outside, kind="launcher")
    elif known.kind == "launcher-lost":
        yield Finding(known.attempt, UNEXPLAINED, known.text, kind="launcher")
    elif known.kind == "interrupted":
        yield Finding(known.attempt, STOPPED, known.text, kind="interrupted")
    elif known.kind in ("allocation", "registration"):
        yield Finding(known.attempt, KILLED, known.text, kind=known.kind)
    elif known.kind == "execution":
        yield Finding(known.attempt, STOPPED, known.text, kind="execution")
    elif known.kind and known.rank not in {each.rank for each in known.workers}:
        yield Finding(known.attempt, KILLED, known.text, known.rank, "killed")


def _echoes(known: AttemptFacts, found: Iterable[Finding], first: Finding) -> Iterable[str]:
    """What became of the others."""
    others = [each for each in found if each is not first and each.rank != first.rank]
    own = [each for each in others if each.weight < ECHO and each.kind != "launcher"]
    for each in own:
        yield f"besides, {each.text}"
    noted = {each.rank for each in own} | {first.rank}
    followed = [each for each in others if each.kind == "echo" and each.rank not in noted]
    if followed:
        ranks = [each.rank for each in followed if each.rank is not None]
        yield f"{workers_text(ranks)} failed because of it"
        noted |= {*ranks}
    stopped = [each.rank for each in known.workers if each.end == "stopped"]
    if ranks := [rank for rank in stopped if rank not in noted]:
        yield f"{workers_text(ranks)} stopped because of it"
        noted |= {*ranks}
    if known.outside or known.kind == "launcher-lost":
        if first.kind != "launcher":
            yield f"then {known.outside or known.text}"
        if ranks := [each.rank for each in known.workers if each.rank not in noted]:
            yield f"{workers_text(ranks)} ended with it, unseen"


def _place(worker: WorkerFacts) -> str:
    return f"worker {worker.rank}" + (f" on {worker.host}" if worker.host else "")
