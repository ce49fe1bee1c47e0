"""Protect the sockets that hdfs-native keeps open for its next read from use in a fork.

hdfs-native keeps connections to DataNodes for three seconds, for the whole process, and offers no
access to them. A fork would use its parent's connections and take its parent's answers. So a fork
replaces each such socket by one whose other end is closed. hdfs-native takes it for a lost
connection and makes a new one.
"""

# No pathlib: it cannot tell what a descriptor is.
# ruff: noqa: PTH115, PTH208

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_WATCHES = "anon_inode:[eventpoll]"
_WATCHED = re.compile(r"^tfd:\s*(\d+)", re.MULTILINE)
WATCHERS: set[int] = set()


@contextmanager
def watched() -> Iterator[None]:
    """Remember the epoll descriptors that the block makes; they lead to hdfs-native's sockets."""
    before = _watchers()
    WATCHERS.intersection_update(before)  # the numbers of closed ones are given to other files
    try:
        yield
    finally:
        WATCHERS.update(_watchers() - before)


def cut_off() -> None:
    """Replace those sockets in a fork by closed ones; the parent's stay open."""
    sockets = {number for watcher in WATCHERS & _watchers() for number in _watched_by(watcher)}
    WATCHERS.clear()
    if not sockets:
        return
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        for number in sockets:
            # Not closed: the number would be reused for another file, and closed a second time.
            os.dup2(ours.fileno(), number, inheritable=False)


def _watchers() -> set[int]:
    found = set()
    with suppress(OSError):  # no Linux
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == _WATCHES:
                    found.add(int(name))
    return found


def _watched_by(watcher: int) -> Iterator[int]:
    with open(f"/proc/self/fdinfo/{watcher}", encoding="ascii") as file:  # noqa: PTH123
        numbers = map(int, _WATCHED.findall(file.read()))
    for number in numbers:
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
