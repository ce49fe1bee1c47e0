"""Memory for payload, kept from one unit of work to the next.

The first touch of fresh memory costs as much as a copy into it, and a process works through many
units that each hold a features file, a run of records or a window of a shard.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

_STEP_BYTES = 16 << 20
"""Sizes are rounded up to it, so that files of about one size get the same memory."""


class _Free(threading.local):
    def __init__(self) -> None:
        self.rooms: list[NDArray[np.uint8]] = []


_free = _Free()


@contextmanager
def buffer(size: int) -> Iterator[NDArray[np.uint8]]:
    """At least *size* bytes of any content, until the block ends: keep no view of them.

    What is kept, in each thread, is no more than was held at once, in blocks that all were free or
    too small when a larger one was needed: those are let go of first.
    """
    fitting = [at for at, room in enumerate(_free.rooms) if len(room) >= size]
    if fitting:  # the smallest; of those of one size the one that was used last
        room = _free.rooms.pop(min(fitting, key=lambda at: (len(_free.rooms[at]), -at)))
    else:
        _free.rooms.clear()
        room = np.empty(-(-size // _STEP_BYTES) * _STEP_BYTES, np.uint8)
    try:
        yield room[:size]
    finally:
        _free.rooms.append(room)
