"""`logs`: the output of a run's workers, all at once or as it comes."""

import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice

from audioloom_stage.result import JSON, Result
from audioloom_storage import Location

from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.log_reader import Log, NodeLogs
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, locate_run, read_run_status
from audioloom_yarn_launcher.rendezvous.roles import ranks_of
from audioloom_yarn_launcher.runs.application import report_pending
from audioloom_yarn_launcher.runs.layout import appends
from audioloom_yarn_launcher.runs.sidecar_events import read_histories
from audioloom_yarn_launcher.settings import LogsSettings, command_line
from audioloom_yarn_launcher.system.waiting import ahead

LOOK_AGAIN_S, LOOK_AGAIN_REMOTE_S = 0.3, 1.0
LISTS_A_LOOK = 20
"""Of folders on remote storage, where new pieces of a log come seldom."""

Logs = dict[tuple[int, int], Log]
"""The logs by rank and attempt."""


def show_logs(settings: LogsSettings) -> Result:
    """Show the requested logs; NoRun if there is no such run, attempt or rank."""
    folder = locate_run(settings.run)
    view = read_run_status(folder)
    attempt = settings.attempt or view.number
    size = next((each.started.size for each in view.attempts if each.number == attempt), None)
    if size is None and settings.attempt:
        raise _no_log(view, attempt, settings.rank)
    if size is not None and settings.rank is not None and settings.rank >= size:
        raise _no_log(view, attempt, settings.rank)
    reader = LogsReader(settings.rank)
    logs = reader.open(view, attempt)
    files = [(log.rank, file.location) for log in logs for file in log.files]
    if not files and not settings.attempt and view.pending is not None and not view.over:
        report_pending(view.pending)
    elif not files and view.over:
        raise _no_log(view, attempt, settings.rank)
    data: dict[str, JSON] = {
        "run": folder.uri,
        "attempt": attempt,
        "logs": [{"rank": rank, "location": location.uri} for rank, location in files],
    }
    if settings.follow:
        return Result(follow(folder, settings), data)
    at_work = not view.over and attempt == view.number
    pages = NodeLogs(folder, attempt) if at_work else None
    lines = reader.read(view, logs, pages, ended=True)
    if files or view.pending is not None:
        return Result(lines, data)
    shown = [*lines]
    if not shown:
        raise _no_log(view, attempt, settings.rank)
    return Result(shown, data)


def follow(folder: Location, settings: LogsSettings) -> Iterator[str]:
    """Yield lines as they come, attempt after attempt, until the run or attempt is over."""
    number = settings.attempt or read_run_status(folder).number or _next_number(folder, 0)
    reader, pause = LogsReader(settings.rank), _pause(folder)
    while number is not None:
        pages, over = NodeLogs(folder, number), False
        while not over:
            view = read_run_status(folder)
            # Before the last look, so nothing is missed.
            over = view.over or all(e.number != number or e.ended for e in view.attempts)
            logs = reader.open(view, number, all_of_them=over)
            yield from reader.read(view, logs, None if over else pages, ended=over)
            if not over:
                time.sleep(pause)
        number = None if settings.attempt else _next_number(folder, number)


class LogsReader:
    """Reads the logs of a run, or of one *rank* of it, each from its start, in several threads."""

    def __init__(self, rank: int | None) -> None:
        self._rank = rank
        self._logs: Logs = {}
        self._turn = 0
        self._of_sidecars: set[tuple[int, int]] = set()
        self._left: list[Log] = []

    def open(self, view: RunStatus, attempt: int, *, all_of_them: bool = True) -> list[Log]:
        """Return the logs of an attempt, by rank, with the files that they have now.

        For the last attempt there are also those of sidecars that run since an earlier one. On
        remote storage, only the next `LISTS_A_LOOK` logs are looked at unless *all_of_them* are.
        The log that a sidecar has left for another one is returned once more.
        """
        sizes = (each.started.size for each in view.attempts if each.number == attempt)
        ranks = range(next(sizes, 0)) if self._rank is None else (self._rank,)
        wanted = {(rank, attempt) for rank in ranks}
        left: set[tuple[int, int]] = set()
        if attempt == view.number and (sidecars := _sidecar_ranks(view)):
            stories = read_histories(view.folder).items()
            chosen = ((r, s) for r, s in stories if r in sidecars and self._rank in (None, r))
            at_work = {(rank, story.last.attempt) for rank, story in chosen}
            left, self._of_sidecars = self._of_sidecars - at_work, at_work
            wanted |= at_work | left
        for key in wanted - self._logs.keys():
            self._logs[key] = Log(view.folder, *key)
        self._left = [self._logs[key] for key in sorted(left)]
        logs = [log for key, log in sorted(self._logs.items()) if key in wanted]
        due = logs
        if not (all_of_them or appends(view.folder)):
            due = [*islice(cycle(logs), self._turn, self._turn + min(LISTS_A_LOOK, len(logs)))]
            self._turn = (self._turn + len(due)) % max(len(logs), 1)
            due += [log for log in self._left if log not in due]
        for _ in ahead(Log.look, due):
            pass
        return logs

    def read(
        self, view: RunStatus, logs: list[Log], pages: NodeLogs | None, *, ended: bool
    ) -> Iterator[str]:
        """Yield the new lines of each log: those of its files, then the newer output on its node.

        At its end a last line without an end is one too; sidecars may go on after the others.
        """
        if pages is not None:
            pages.search()
        sidecars = _sidecar_ranks(view)
        alone = self._rank is not None or len({log.rank for log in logs}) == 1
        due = [log for log in logs if ended or pages is not None or log.position < log.end]
        for log, first in zip(due, ahead(partial(_next_lines, pages), due), strict=True):
            prefix, lines = "" if alone else f"[{log.rank}] ", first
            while lines or log.position < log.end:
                yield from (f"{prefix}{line}" for line in lines)
                lines = _next_lines(pages, log) if log.position < log.end else []
            if log in self._left or (ended and (view.over or log.rank not in sidecars)):
                yield from (f"{prefix}{line}" for line in log.rest())


def _next_lines(pages: NodeLogs | None, log: Log) -> list[str]:
    lines = log.read()
    if pages is not None and log.position >= log.end:
        lines += log.take(pages.read(log.rank, log.position))
    return lines


def _pause(folder: Location) -> float:
    return LOOK_AGAIN_S if appends(folder) else LOOK_AGAIN_REMOTE_S


def _next_number(folder: Location, number: int) -> int | None:
    """The attempt after this one, as soon as there is one; None if there will be none."""
    while True:
        view = read_run_status(folder)
        later = (each.number for each in view.attempts if each.number > number)
        if (found := next(later, None)) or view.over:
            return found
        time.sleep(_pause(folder))


def _sidecar_ranks(view: RunStatus) -> list[int]:
    roles = view.last.started.roles if view.last else ()
    return ranks_of(roles, lambda group: group.sidecar)


def _no_log(view: RunStatus, attempt: int, rank: int | None) -> NoRun:
    whose = "any worker" if rank is None else f"worker {rank}"
    return NoRun(
        f"there is no log of {whose}" + (f" of attempt {attempt}" if attempt else ""),
        where=view.folder / "logs",
        found=view.pending.because if view.pending else "",
        hint=command_line("status", view.folder),
    )
