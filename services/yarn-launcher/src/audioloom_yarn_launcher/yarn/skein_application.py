"""The skein application of this container, with a deadline for each call.

A frozen application master keeps its connections open. Without a deadline, a caller would wait for
minutes until YARN ends that master, and not notice that it is alone.
"""

from typing import Any

from audioloom_yarn_launcher.yarn.skein_import import import_skein

ANSWER_WITHIN_S = 30.0
_STREAM = "Watch"
"""The call that brings events for as long as the application lives."""


def current_application() -> Any:
    """Return the `skein.ApplicationClient` of this container's application.

    Raises:
        ValueError, FileNotFoundError: this process runs in no skein container.
    """
    return client_kind(ANSWER_WITHIN_S).from_current()


def client_kind(within_s: float) -> Any:
    """Make a kind of `skein.ApplicationClient` whose calls time out after *within_s* seconds."""

    class Client(import_skein().ApplicationClient):  # type: ignore[misc]
        __slots__ = ()

        def _call(self, method: str, request: Any, timeout: float | None = None) -> Any:
            if timeout is None and method != _STREAM:
                timeout = within_s
            return super()._call(method, request, timeout=timeout)

    return Client
