"""Handle SIGTERM: a thread notices it, because TensorFlow would swallow it.

YARN sends SIGTERM shortly before it kills. The loop saves a checkpoint at the end of its block. A
watchdog ends the process if that takes too long: a lost peer can block the main thread forever.
"""

import os
import signal
import threading

import structlog

log = structlog.get_logger()

EXIT_CODE = 75
GRACE_SECONDS = 20.0


class StopRequest:
    """The request to end this process, made by SIGTERM."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._done = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether the signal has arrived."""
        return self._requested.is_set()

    def finished(self) -> None:
        """Report that the loop has ended, so that the watchdog does not end the process."""
        self._done.set()

    def request(self, grace: float) -> None:
        """Ask the loop to end; end the process if it has not ended after *grace* seconds."""
        log.warning("SIGTERM received: saving a checkpoint if there is time", seconds=grace)
        self._requested.set()
        if not self._done.wait(grace):
            log.error("ended without a checkpoint of the last steps: no time was left")
            os._exit(EXIT_CODE)


def handle_sigterm(grace: float = GRACE_SECONDS) -> StopRequest:
    """Take over SIGTERM in the main thread; call it before NumPy and TensorFlow are imported.

    This blocks the signal here and in every thread started later. Otherwise one thread that does
    not block it, such as NumPy's arithmetic threads, would end the process, or a handler of
    TensorFlow would run. After *grace* seconds the process is ended by force.
    """
    request = StopRequest()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        request.request(grace)

    threading.Thread(target=wait, name="sigterm", daemon=True).start()
    return request
