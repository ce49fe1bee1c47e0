"""The module skein, and the application of this container with a deadline for each call.

A frozen application master keeps its connections open. Without a deadline, a caller would wait for
minutes until YARN ends that master, and not notice that it is alone.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from audioloom_yarn_launcher.errors import StoreLost

ANSWER_WITHIN_S = 30.0
_STREAM = "Watch"
"""The call that brings events for as long as the application lives."""


def import_skein() -> Any:
    """Import `skein`, as late as possible: it takes half a second and prints a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it imports distutils
        import skein  # noqa: PLC0415
        import skein.exceptions  # noqa: PLC0415
        import skein.kv  # noqa: PLC0415
    return skein


@contextmanager
def as_store_lost(*more: type[Exception]) -> Iterator[None]:
    """Raise `StoreLost` for skein's errors: without the application master there is no gang."""
    try:
        yield
    except (import_skein().exceptions.SkeinError, *more) as error:
        raise StoreLost(str(error)) from error


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
