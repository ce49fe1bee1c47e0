"""Tell, and put on record, what happens to those beside the gang; the coordinator does not wait."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog
from audioloom_storage import Location, StorageError

from audioloom_yarn_launcher.coordinator.sidecars import News
from audioloom_yarn_launcher.rendezvous.roles import Group, task
from audioloom_yarn_launcher.runs.clock import now
from audioloom_yarn_launcher.runs.sidecar_events import Happened, numbers, record_happening

log = structlog.get_logger()


class BesideNotes:
    """Takes the news of a run.

    Args:
        folder: of the run.
        groups: its roles.
    """

    def __init__(self, folder: Location, groups: Sequence[Group]) -> None:
        self._folder, self._groups = folder, groups
        self._writer = ThreadPoolExecutor(1, "beside")
        self._last: int | None = None

    def __call__(self, news: News) -> None:
        """Take news."""
        record = happened(news, self._groups)
        who = {"role": record.role, "index": record.index}
        if news.what == "shown":
            log.info("the page answers", **who, page=news.page)
        elif news.what == "ended" and news.why:
            because = {"because": news.why, "starting_anew": news.again}
            log.warning("a process beside the gang did not end well", **who, **because)
        self._writer.submit(self._put_on_record, record)

    def close(self) -> None:
        """Wait until all is on record."""
        self._writer.shutdown()

    def _put_on_record(self, record: Happened) -> None:
        try:
            if self._last is None:
                self._last = max(numbers(self._folder), default=0)
            self._last += 1
            record_happening(self._folder, self._last, record)
        except StorageError as error:  # the run goes on without
            log.warning("what happened beside the gang cannot be put on record", found=str(error))


def happened(news: News, groups: Sequence[Group]) -> Happened:
    """The record that news is."""
    called, member, end = task(groups, news.rank), news.member, news.exit
    code = end.code if end is not None else None
    return Happened(
        what=news.what,
        time=now(),
        rank=news.rank,
        role=called.role,
        index=called.index,
        attempt=news.attempt,
        worker=member.id if member else "",
        host=member.host if member else "",
        address=member.address if member else "",
        pid=end.pid if end else None,
        page=news.page,
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        cause=news.why,
        stopped=end is not None and end.stopped,
        again=news.again,
    )
