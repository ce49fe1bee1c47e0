"""End a program after its exit handlers have run, without finalizing the interpreter."""

import atexit
import contextlib
import os
import sys
from collections.abc import Callable


def as_program(body: Callable[[], int]) -> int:
    """Run *body* as the whole of this process, which ends with the exit code that it returns.

    The process ends after all other exit handlers, without finalizing the interpreter. During
    finalization, CPython ends a thread of a native library (Arrow, hdfs-native) inside C++ code,
    and that aborts a process whose work is done (https://github.com/apache/arrow/issues/34314).
    """
    code = 1  # Python's own exit code when body raises
    process = os.getpid()

    def end() -> None:
        if os.getpid() != process:  # a fork ends in its own way
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or never open
                stream.flush()
        os._exit(code)

    # Exit handlers run in the reverse order: the first to be registered is the last to run.
    atexit.register(end)
    try:
        code = body()
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            code = leaving.code or 0
        raise
    return code
