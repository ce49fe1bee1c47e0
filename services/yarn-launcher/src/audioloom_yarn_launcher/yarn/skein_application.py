"""The skein application of this container, with a deadline for each call.

An application master that is frozen keeps its connections open. Without a deadline, a caller would
wait for minutes until YARN gives it up, and not notice that it is alone.
"""

from typing import Any

from audioloom_yarn_launcher.yarn.skein_import import import_skein

ANSWER_WITHIN_S = 30.0
_STREAM = "Watch"
"""The call that brings events for as long as the application lives."""


def current_application() -> Any:
    """The `skein.ApplicationClient` of this container's application.

    Raises:
        ValueError, FileNotFoundError: this is no container of one.
    """
    return client_kind(ANSWER_WITHIN_S).from_current()


def client_kind(within_s: float) -> Any:
    """A kind of `skein.ApplicationClient` that waits for no answer longer than so many seconds."""

    class Client(import_skein().ApplicationClient):  # type: ignore[misc]
        __slots__ = ()

        def _call(self, method: str, request: Any, timeout: float | None = None) -> Any:
            if timeout is None and method != _STREAM:
                timeout = within_s
            return super()._call(method, request, timeout=timeout)

    return Client
