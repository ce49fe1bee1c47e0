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
    """Lend at least *size* bytes of any content until the block ends; keep no view of them.

    Each thread keeps no more memory than it held at once. When a larger block is needed, free
    blocks that are too small are released first.
    """
    fitting = [at for at, room in enumerate(_free.rooms) if len(room) >= size]
    if fitting:  # the smallest; among equal sizes, the last used
        room = _free.rooms.pop(min(fitting, key=lambda at: (len(_free.rooms[at]), -at)))
    else:
        _free.rooms.clear()
        room = np.empty(-(-size // _STEP_BYTES) * _STEP_BYTES, np.uint8)
    try:
        yield room[:size]
    finally:
        _free.rooms.append(room)
