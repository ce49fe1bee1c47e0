"""Files without a name or that may be gone, the end of a file, and whether its disk is full."""

import fcntl
import os
import tempfile
from pathlib import Path

LEAST_ROOM_BYTES = 1 << 20


def text_of(path: Path) -> str:
    """Return the text of a file; "" if it cannot be read, such as of a process that is gone."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def nameless() -> int:
    """Open a new file for appending that leaves nothing behind, however this process ends."""
    descriptor, path = tempfile.mkstemp()
    Path(path).unlink()
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    return descriptor


def is_full(descriptor: int) -> bool:
    """Return whether the disk of an open file is full."""
    found = os.fstatvfs(descriptor)
    return found.f_bavail * found.f_frsize < LEAST_ROOM_BYTES


def tail(descriptor: int, limit: int) -> str:
    """Return the last whole lines of a file within its last *limit* bytes."""
    size = os.fstat(descriptor).st_size
    data = os.pread(descriptor, limit, max(0, size - limit))
    if size > limit:
        data = data.partition(b"\n")[2] or data
    return data.decode("utf-8", errors="replace").rstrip()
