"""Calls a function in a freshly forked process, so that no call sees what another left behind."""

from __future__ import annotations

import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

from audioloom_voices.errors import SynthesisFailed, VoicesError

Item = TypeVar("Item")
_DONE, _EXPLAINED, _BROKEN = 0, 1, 70


def call_each(
    function: Callable[[Item], bytes], items: Iterable[Item], at_once: int
) -> Iterator[bytes]:
    """Yield `function(item)` in the order of `items`, each computed in a process of its own.

    Args:
        function: its result travels through a pipe, so it is bytes.
        items: taken one by one, no faster than processes become free.
        at_once: how many processes there may be.

    Raises:
        SynthesisFailed: the function raised a `VoicesError`, or its process died.
    """
    running: deque[tuple[int, BinaryIO]] = deque()
    try:
        for item in items:
            if len(running) >= at_once:
                yield _collect(*running.popleft())
            running.append(_start(function, item))
        while running:
            yield _collect(*running.popleft())
    finally:
        # A caller that stops early (Ctrl-C) closes the pipes first: the children end by that.
        for _, pipe in running:
            pipe.close()
        for pid, _ in running:
            os.waitpid(pid, 0)


def _start(function: Callable[[Item], bytes], item: Item) -> tuple[int, BinaryIO]:
    reading, writing = os.pipe()
    # Ctrl-C reaches the child too. There it must kill: ctypes swallows an exception in a callback,
    # and what the engine had to say just then would be missing from the recording.
    allowed = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, allowed)
    if pid:
        os.close(writing)
        return pid, os.fdopen(reading, "rb")
    # In the child. Only _exit leaves here: the parent's finally blocks are not ours to run.
    code = _BROKEN
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            try:
                pipe.write(function(item))
                code = _DONE
            except VoicesError as error:
                pipe.write(str(error).encode())
                code = _EXPLAINED
    except BrokenPipeError:
        code = _BROKEN  # nobody listens any more
    except Exception:  # noqa: BLE001 - a bug: told here, where its place is still known
        traceback.print_exc()
        code = _BROKEN
    finally:
        os._exit(code)


def _collect(pid: int, pipe: BinaryIO) -> bytes:
    try:
        with pipe:
            result = pipe.read()
    finally:
        _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == _EXPLAINED:
        raise SynthesisFailed(result.decode(errors="replace"))
    if code != _DONE:
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        raise SynthesisFailed(f"the process that says one sentence died: {how}")
    return result
