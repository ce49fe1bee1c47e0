"""Drop the two lines that Spark's JVM writes at every start; pass everything else through.

The warning about incubator modules comes from the JVM itself, before any logger: Spark requests the
module, and Java has no option to silence it. The warning tells a user nothing.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

_START_LINES = (b"WARNING: Using incubator modules: jdk.incubator.vector",)


@contextmanager
def filtered_stderr() -> Iterator[threading.Thread]:
    """Let processes started in the block write to a pipe, which is passed on to stderr.

    Yield the thread that passes it on; it ends when the last of those processes has.
    """
    reading, writing = os.pipe()
    stderr = os.dup(2)
    relay = threading.Thread(target=_relay, args=(reading, os.dup(2)), name="spark-stderr")
    relay.daemon = True  # a JVM that outlives this process must not delay its end
    relay.start()
    os.dup2(writing, 2)
    os.close(writing)
    with os.fdopen(stderr, "w") as ours:
        try:
            # A bar of this process is drawn on the terminal, and not into the pipe.
            with redirect_stderr(ours) if _descriptor() == 2 else nullcontext():  # noqa: PLR2004
                yield relay
        finally:
            os.dup2(stderr, 2)  # later output goes to stderr again, of children too


def _descriptor() -> int | None:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _relay(reading: int, stderr: int) -> None:
    with os.fdopen(reading, "rb") as source, os.fdopen(stderr, "wb") as target:
        for line in source:
            if line.rstrip() not in _START_LINES:
                target.write(line)
                target.flush()
