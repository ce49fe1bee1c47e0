from __future__ import annotations

import os
import selectors
import socket

import pytest
from audioloom_storage.hdfs import fork_safety


@pytest.fixture(autouse=True)
def _nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What clients of other tests have left would be cut off as well."""
    monkeypatch.setattr(fork_safety, "WATCHERS", set())


def test_only_what_was_watched_is_cut_off() -> None:
    """By the watcher that was made meanwhile; other sockets and other files are left alone."""
    ours, theirs = socket.socketpair()
    other, beyond = socket.socketpair()
    reading, writing = os.pipe()
    with selectors.EpollSelector() as watcher:
        watcher.register(ours, selectors.EVENT_READ)
        watcher.register(reading, selectors.EVENT_READ)
        with selectors.EpollSelector() as unknown:
            unknown.register(other, selectors.EVENT_READ)
            fork_safety.WATCHERS.add(watcher.fileno())
            child = os.fork()
            if child == 0:
                try:
                    fork_safety.cut_off()
                    beyond.send(b"x")
                    os.write(writing, b"x")
                    alive = other.recv(1) == b"x" == os.read(reading, 1)
                    os._exit(0 if alive and ours.recv(1) == b"" else 1)
                finally:
                    os._exit(2)
            assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    theirs.send(b"y")
    assert b"y" == ours.recv(1)
    for one in (ours, theirs, other, beyond):
        one.close()
    for descriptor in (reading, writing):
        os.close(descriptor)


def test_a_watcher_is_found() -> None:
    """What the block makes, and nothing that was there before."""
    with selectors.EpollSelector() as before:
        with fork_safety.watched():
            made = selectors.EpollSelector()
        assert {made.fileno()} == fork_safety.WATCHERS
        assert before.fileno() not in fork_safety.WATCHERS
        made.close()


def test_a_watcher_that_was_closed_is_forgotten() -> None:
    """Its number may be that of another file by then."""
    with fork_safety.watched():
        made = selectors.EpollSelector()
    number = made.fileno()
    made.close()
    with fork_safety.watched():
        pass
    assert number not in fork_safety.WATCHERS
