"""Drop the two lines that Spark's JVM writes at every start; pass everything else through.

The warning about incubator modules comes from the JVM itself, before any logger: Spark requests the
module, and Java has no option to silence it. The warning tells a user nothing.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_START_LINES = (b"WARNING: Using incubator modules: jdk.incubator.vector",)


@contextmanager
def filtered_stderr() -> Iterator[threading.Thread]:
    """Let processes started in the block write to a pipe, which is passed on to stderr.

    Yields:
        The thread that passes it on; it ends when the last of those processes has.
    """
    reading, writing = os.pipe()
    stderr = os.dup(2)
    relay = threading.Thread(target=_relay, args=(reading, os.dup(2)), name="spark-stderr")
    relay.daemon = True  # a JVM that outlives this process must not delay its end
    relay.start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield relay
    finally:
        os.dup2(stderr, 2)  # later output of this process and its children goes to stderr again
        os.close(stderr)


def _relay(reading: int, stderr: int) -> None:
    with os.fdopen(reading, "rb") as source, os.fdopen(stderr, "wb") as target:
        for line in source:
            if line.rstrip() not in _START_LINES:
                target.write(line)
                target.flush()
