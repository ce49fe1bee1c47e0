"""`logs`: the output of a run's workers, all at once or as it comes."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from audioloom_stage.result import JSON, Result
from audioloom_storage import Location

from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.log_reader import LogFile, Stream, log_files
from audioloom_yarn_launcher.monitoring.node_logs import NodeLogs
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, locate_run, read_run_status
from audioloom_yarn_launcher.rendezvous.roles import ranks_of
from audioloom_yarn_launcher.runs.pending_application import report_pending
from audioloom_yarn_launcher.runs.sidecar_events import read_histories
from audioloom_yarn_launcher.settings import LogsSettings

LOOK_AGAIN_S = 0.3

Streams = defaultdict[tuple[int, int], Stream]
"""What is read of each log, by rank and attempt."""


def show_logs(settings: LogsSettings) -> Result:
    """Show the requested logs.

    Raises:
        NoRun: there is no such run, attempt or rank.
    """
    folder = locate_run(settings.run)
    view = read_run_status(folder)
    attempt = settings.attempt or _last_number(view) or 0
    files = _files(view, attempt, settings.rank)
    if not files and not settings.attempt and view.pending is not None and not view.over:
        report_pending(view.pending)
    elif not files and view.over:
        raise _no_log(view, attempt, settings.rank)
    data: dict[str, JSON] = {
        "run": folder.uri,
        "attempt": attempt,
        "logs": [{"rank": file.rank, "location": file.location.uri} for file in files],
    }
    if settings.follow:
        return Result(follow(folder, settings), data)
    at_work = not view.over and attempt == _last_number(view)
    pages = NodeLogs(folder, attempt) if at_work else None
    lines = _new_lines(view, attempt, settings.rank, defaultdict(Stream), pages, ended=True)
    if files or view.pending is not None:
        return Result(lines, data)
    shown = [*lines]
    if not shown:
        raise _no_log(view, attempt, settings.rank)
    return Result(shown, data)


def follow(folder: Location, settings: LogsSettings) -> Iterator[str]:
    """Yield lines as they come, attempt after attempt, until the run or attempt is over."""
    number = settings.attempt or _last_number(read_run_status(folder)) or _next_number(folder, 0)
    streams: Streams = defaultdict(Stream)
    while number is not None:
        pages, over = NodeLogs(folder, number), False
        while not over:
            view = read_run_status(folder)
            over = _attempt_over(view, number)  # before the last look, so nothing is missed
            newer = None if over else pages
            yield from _new_lines(view, number, settings.rank, streams, newer, ended=over)
            if not over:
                time.sleep(LOOK_AGAIN_S)
        number = None if settings.attempt else _next_number(folder, number)


def _last_number(view: RunStatus) -> int | None:
    return view.last.started.attempt if view.last else None


def _next_number(folder: Location, number: int) -> int | None:
    """The attempt after this one, as soon as there is one; None if there will be none."""
    while True:
        view = read_run_status(folder)
        for attempt in view.attempts:
            if attempt.started.attempt > number:
                return attempt.started.attempt
        if view.over:
            return None
        time.sleep(LOOK_AGAIN_S)


def _new_lines(
    view: RunStatus,
    attempt: int,
    rank: int | None,
    streams: Streams,
    pages: NodeLogs | None,
    *,
    ended: bool,
) -> Iterator[str]:
    """Yield the new lines of each log: those of its files, then the newer output on its node.

    At the end a last line without an end is one too, except of sidecars that go on.
    """
    ranks = {*_ranks(view, attempt)} if rank is None else {rank}
    sidecars = {*_sidecar_ranks(view)}
    alone = len(ranks if rank is not None else ranks | sidecars) == 1
    by_log = groupby(_files(view, attempt, rank), lambda file: file.log)
    files = {log: [*pieces] for log, pieces in by_log}
    wanted = {(each, attempt) for each in ranks} if pages is not None else set()
    for log in sorted(files.keys() | streams.keys() | wanted):
        stream, prefix = streams[log], "" if alone else f"[{log[0]}] "
        for line in stream.read(files.get(log, [])):
            yield f"{prefix}{line}"
        if pages is not None and log in wanted:
            for line in stream.take(pages.read(log[0], stream.position)):
                yield f"{prefix}{line}"
        if ended and (view.over or log[0] not in sidecars):
            for line in stream.rest():
                yield f"{prefix}{line}"


def _files(view: RunStatus, attempt: int, rank: int | None) -> list[LogFile]:
    """The logs of an attempt; for the last one, also of sidecars that run since an earlier one."""
    files = log_files(view.folder, attempt, rank)
    if attempt == _last_number(view) and (wanted := {*_sidecar_ranks(view)}):
        for each, story in read_histories(view.folder).items():
            earlier = story.last.attempt < attempt and each in wanted
            if earlier and rank in (None, each):
                files += log_files(view.folder, story.last.attempt, each)
    return sorted(files)


def _sidecar_ranks(view: RunStatus) -> list[int]:
    roles = view.last.started.roles if view.last else ()
    return ranks_of(roles, lambda group: group.sidecar)


def _ranks(view: RunStatus, attempt: int) -> Iterable[int]:
    size = next((e.started.size for e in view.attempts if e.started.attempt == attempt), 0)
    return range(size)


def _attempt_over(view: RunStatus, number: int) -> bool:
    for attempt in view.attempts:
        if attempt.started.attempt == number and attempt.ended is None:
            return view.over
    return True


def _no_log(view: RunStatus, attempt: int, rank: int | None) -> NoRun:
    whose = "any worker" if rank is None else f"worker {rank}"
    return NoRun(
        f"there is no log of {whose}" + (f" of attempt {attempt}" if attempt else ""),
        where=view.folder / "logs",
        found=view.pending.because if view.pending else "",
        hint=f"audioloom-yarn-launcher status {view.folder}",
    )
