"""SIGTERM, which TensorFlow would swallow: noticed by a thread, acted on between two blocks.

YARN sends it before it kills, and gives little time: the loop saves if it gets there, and a
watchdog ends the process if it does not, for a lost peer can hold the main thread for ever.
"""

import os
import signal
import threading

import structlog

log = structlog.get_logger()

EXIT_CODE = 75
GRACE_SECONDS = 20.0


class StopRequest:
    """Whether this process was told to end."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._done = threading.Event()

    @property
    def requested(self) -> bool:
        """True from the signal on."""
        return self._requested.is_set()

    def finished(self) -> None:
        """Say that the loop has ended by itself, so that nobody needs to end it by force."""
        self._done.set()

    def request(self, grace: float) -> None:
        """Ask the loop to end, and end the process when it does not within *grace* seconds."""
        log.warning("SIGTERM received: saving a checkpoint if there is time", seconds=grace)
        self._requested.set()
        if not self._done.wait(grace):
            log.error("ended without a checkpoint of the last steps: no time was left")
            os._exit(EXIT_CODE)


def handle_sigterm(grace: float = GRACE_SECONDS) -> StopRequest:
    """Take over SIGTERM in the main thread; call it before NumPy and TensorFlow are imported.

    The signal is blocked here, and in every thread that is started from now on: a single thread
    that does not block it, such as NumPy starts for its arithmetic, would end the process, and
    none of the handlers that TensorFlow installs may run.

    Args:
        grace: seconds between the signal and the end by force.
    """
    request = StopRequest()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        request.request(grace)

    threading.Thread(target=wait, name="sigterm", daemon=True).start()
    return request
