"""Memory that units of work use again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from audioloom_sharder.io.buffers import buffer
from numpy.typing import NDArray

_MIB = 1 << 20


def _address(room: NDArray[np.uint8]) -> int:
    return int(room.ctypes.data)


def _of_a_thread(*sizes: int) -> list[int]:
    """Where memory of these sizes lies, asked for one after another in a fresh thread."""

    def ask() -> list[int]:
        found = []
        for size in sizes:
            with buffer(size) as room:
                assert size == len(room)
                room[:] = 1
                found.append(_address(room))
        return found

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()


def test_two_at_once_never_share_memory() -> None:
    """What is in use is not handed out again."""
    with ExitStack() as stack:
        rooms = [stack.enter_context(buffer(size)) for size in (3, 20 * _MIB, 3)]
        for number, room in enumerate(rooms):
            room[:] = number
        assert [{0}, {1}, {2}] == [set(np.unique(room).tolist()) for room in rooms]


def test_an_error_gives_memory_back() -> None:
    """A unit that failed leaves its memory to the next."""
    with suppress(ValueError), buffer(5) as room:
        first = _address(room)
        raise ValueError("the unit failed")
    with buffer(5) as room:
        assert first == _address(room)


@pytest.mark.parametrize("then", [1, _MIB, 16 * _MIB])
def test_the_next_unit_of_about_that_size_gets_the_same_memory(then: int) -> None:
    """Sizes are rounded up, so that no file is a little too large for the memory of the last."""
    first, second = _of_a_thread(_MIB, then)
    assert first == second


def test_threads_have_memory_of_their_own() -> None:
    """A unit in one thread never gets what a unit in another works in."""
    with buffer(4 * _MIB) as room:
        room[:] = 7
        _of_a_thread(4 * _MIB)
        assert {7} == set(np.unique(room).tolist())


def test_what_is_too_small_is_let_go_of_before_more_is_taken() -> None:
    """A process keeps the larger block, not both."""
    kept = []

    def ask() -> None:
        for size in (16 * _MIB, 48 * _MIB, 16 * _MIB):
            with buffer(size) as room:
                kept.append(len(room.base))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(ask).result()
    assert [16 * _MIB, 48 * _MIB, 48 * _MIB] == kept
