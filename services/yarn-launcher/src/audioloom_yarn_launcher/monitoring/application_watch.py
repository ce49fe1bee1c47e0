"""The watch of an application: it logs events and passes signals on to the coordinator."""

import math
import signal
import time
from dataclasses import dataclass, field

import structlog
from audioloom_stage.errors import TryAgain
from audioloom_storage import Location, Unavailable

from audioloom_yarn_launcher.errors import ResourceManagerDown
from audioloom_yarn_launcher.rendezvous.messages import Stop
from audioloom_yarn_launcher.runs.application import ApplicationEnd, end_application
from audioloom_yarn_launcher.runs.attempts import Attempt, read_attempts, report_exposed
from audioloom_yarn_launcher.system.interrupts import SignalState
from audioloom_yarn_launcher.yarn.application_errors import why_it_waits
from audioloom_yarn_launcher.yarn.resource_manager import Application, why_not_allocated
from audioloom_yarn_launcher.yarn.scheduling import NOT_TOLD, NOTHING_ASKED
from audioloom_yarn_launcher.yarn.skein_client import Cluster

LOOK_EVERY_S = 0.5
FIRST_READ_S, MOST_READ_S = 1.0, 10.0
BEGIN_WITHIN_S = 60.0
TELL_AFTER_S = 15.0
_WAITING = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED")

log = structlog.get_logger()


@dataclass
class ApplicationWatch:
    """Waits for an application, which YARN must start within *start_s* seconds if that is given."""

    cluster: Cluster
    folder: Location
    launch: str
    application: str
    heard: SignalState
    start_s: float | None = None
    _told: dict[int, str] = field(default_factory=dict)
    _state: str = ""
    _because: str = ""
    _begun: float = 0.0
    _since: float = field(default_factory=time.monotonic)
    _silent: bool = False
    _unread: bool = False
    _attempts: tuple[Attempt, ...] = ()
    _running: bool = False

    def _stop(self) -> Stop:
        return Stop(signal=self.heard.number, times=self.heard.times)

    def wait(self, *, until_begun: bool = False) -> ApplicationEnd | None:
        """Wait for the end of the application, or until the run has begun; a signal ends it.

        Return None if it goes on, begun or left by a person. TryAgain if YARN did not start it in
        time, so that it was ended.
        """
        read, pause = time.monotonic(), FIRST_READ_S
        deadline = time.monotonic() + (BEGIN_WITHIN_S if until_begun else math.inf)
        while True:
            report = self._report()
            if report is not None and report.ended:
                return self._ending(report)
            if self.heard.times:
                log.warning("ending the application", application=self.application)
                return self._ending(end_application(self.cluster, self.application, self._stop))
            if self.heard.left:
                return None
            if time.monotonic() >= read:
                self._read_attempts()
                if until_begun and self._attempts:
                    return None
                self._tell_shortage()
                read, pause = time.monotonic() + pause, min(1.2 * pause, MOST_READ_S)
            if time.monotonic() >= deadline and (self._running or not self.start_s):
                log.warning("the application waits for its first container, and goes on waiting")
                return None
            time.sleep(LOOK_EVERY_S)

    def _ending(self, report: Application) -> ApplicationEnd:
        attempts = self._known_attempts()
        return ApplicationEnd(self.application, report, attempts, self.heard.number)

    def _report(self) -> Application | None:
        try:
            report = self.cluster.report(self.application)
        except ResourceManagerDown as error:
            if not self._silent:
                log.warning(error.summary, application=self.application)
            self._silent = True
            return None
        self._silent = False
        if report.state != self._state:
            self._state = report.state
            log.debug("the application goes on", state=report.state)
        if report.state in _WAITING and time.monotonic() > self._since + TELL_AFTER_S:
            because = why_it_waits(report.state, report.diagnostics)
            if because != self._because:
                log.info("the application waits", state=report.state, because=because)
            self._because = because
        self._check_started(report)
        return report

    def _check_started(self, report: Application) -> None:
        self._running |= report.state not in _WAITING  # the limit does not apply to a second master
        if self.start_s is None or self._running or self.heard.times:
            return
        if time.monotonic() < self._since + self.start_s:
            return
        log.warning("ending the application: it was not started in time")
        end_application(self.cluster, self.application, lambda: Stop(signal=signal.SIGTERM))
        raise TryAgain(
            "YARN did not start the application master in time",
            where=self.application,
            expected=f"within {self.start_s:g} s (--timeout-start)",
            found=f"{report.state}: {why_it_waits(report.state, report.diagnostics)}",
            hint="Run the same command again later, or give another --queue.",
        )

    def _read_attempts(self) -> None:
        """Read the attempts again; while the storage is away, the run may go on without it."""
        try:
            self._attempts = self._known_attempts()
            self._unread = False
        except Unavailable as error:
            if not self._unread:
                log.warning("the records of the run cannot be read: waiting", found=str(error))
            self._unread = True

    def _known_attempts(self) -> tuple[Attempt, ...]:
        every = read_attempts(self.folder)
        found = tuple(each for each in every if each.started.launch == self.launch)
        for each in found:
            self._tell(each)
        return found

    def _tell(self, attempt: Attempt) -> None:
        number, size = attempt.number, attempt.started.size
        stage = "ended" if attempt.ended else "formed" if attempt.formed else "started"
        before = self._told.get(number)
        if before == stage:
            return
        self._told[number] = stage
        if attempt.formed and before in (None, "started"):
            report_exposed(attempt.formed)
        if stage == "started":
            log.info("waiting for the workers", attempt=number, workers=size)
            self._begun = time.monotonic()
        elif stage == "formed":
            log.info("the gang is complete", attempt=number, workers=size)
        elif attempt.ended and attempt.ended.cause and attempt.ended.restarts:
            log.warning(attempt.ended.cause.text, attempt=number, restarting=True)

    def _tell_shortage(self) -> None:
        """Log the reason for missing containers whenever it changes."""
        last = self._attempts[-1] if self._attempts else None
        waits = last is not None and last.formed is None and last.ended is None
        if not waits or time.monotonic() < self._begun + TELL_AFTER_S:
            return
        because = why_not_allocated(self.application, patience_s=0.0)
        if because not in (self._because, NOT_TOLD, NOTHING_ASKED):
            log.info("containers are waited for", because=because)
        self._because = because
