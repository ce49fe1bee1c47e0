"""Keep off stderr what TensorFlow says of itself when it is loaded, before its levels are in force.

Lines of the level "info", that is, and the one that announces them; no variable turns them off.
They are taken out by a process of its own, so that an error still comes through when it is the
last thing that this process says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_FILTER = r"""
import re, sys
chatter = re.compile(rb"I[0-9]{4} |WARNING: All log messages before absl::InitializeLog")
for line in iter(sys.stdin.buffer.readline, b""):
    if not chatter.match(line):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
"""


@contextmanager
def without_chatter() -> Iterator[None]:
    """Inside, whatever writes to file descriptor 2 is filtered, line by line."""
    try:
        before = os.dup(_STDERR)
    except OSError:  # closed: there is nothing to keep clean
        yield
        return
    reading, writing = os.pipe()
    try:
        words = [sys.executable, "-I", "-S", "-c", _FILTER]
        sieve = subprocess.Popen(words, stdin=reading, stderr=before, start_new_session=True)
    except OSError:
        os.close(writing)
        yield
        return
    else:
        os.dup2(writing, _STDERR)
        os.close(writing)
        try:
            yield
        finally:
            os.dup2(before, _STDERR)  # closes the pipe's last end, and so ends the filter
            sieve.wait()
    finally:
        os.close(reading)
        os.close(before)
