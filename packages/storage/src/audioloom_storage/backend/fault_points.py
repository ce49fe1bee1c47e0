"""Numbered input/output steps, at which a crash test may cut the power.

Every operation that changes storage takes one step first. Nothing listens unless
`audioloom_storage_testing` was asked to, so a step costs one comparison.
"""

from collections.abc import Callable
from enum import Enum

from audioloom_storage.location import Location


class Step(Enum):
    """A kind of input/output step; the value is the byte that a counter file keeps."""

    CREATE = b"c"
    WRITE = b"w"
    SYNC = b"s"
    COMMIT = b"m"
    COMMITTED = b"M"
    MAKE_FOLDER = b"f"
    REMOVE = b"r"
    SHARE = b"p"
    READ = b""  # changes nothing and takes no number, but a crashed process must not read either


Listener = Callable[[Step, Location], None]


class _Ears:
    listener: Listener | None = None


def step(what: Step, location: Location) -> None:
    """Tell the listener, if there is one, that `what` is about to happen to `location`."""
    if _Ears.listener is not None:
        _Ears.listener(what, location)


def listen(listener: Listener | None) -> Listener | None:
    """Let `listener` hear every step of this process from now on; return the previous listener."""
    before, _Ears.listener = _Ears.listener, listener
    return before
