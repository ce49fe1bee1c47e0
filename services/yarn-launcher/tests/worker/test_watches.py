import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.worker import watches
from audioloom_yarn_launcher.worker.watches import Heartbeat, SocketWatch, WatchedProcess
from launcher_processes import until


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process that has a child, whose number it has told."""
    code = (
        "import subprocess as s; c = s.Popen(['/bin/sleep', '300']); print(c.pid, flush=True);"
        "c.wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_process_stands_still_if_one_that_it_started_does(parent: subprocess.Popen[str]) -> None:
    """A shell before the program is not what computes; who runs again does not stand still."""
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not processes.is_stopped(parent.pid)
    for pid in (child, parent.pid):
        os.kill(pid, signal.SIGSTOP)
        until(lambda: processes.is_stopped(parent.pid), "it stands still")
        os.kill(pid, signal.SIGCONT)
        until(lambda: not processes.is_stopped(parent.pid), "it runs")


def test_a_process_that_has_ended_does_not_stand_still() -> None:
    """Nor is it there."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert not processes.is_stopped(process.pid)


def test_it_is_frozen_when_it_has_stood_still_for_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one go, and told once."""
    still = iter([True, True, False, True, True, True, True])
    monkeypatch.setattr(processes, "is_stopped", lambda _: next(still))
    watched = WatchedProcess(1, limit_s=5.0)
    told = [watched.look(at) for at in (0.0, 4.0, 8.0, 9.0, 13.0, 14.0, 15.0)]
    assert [False] * 5 + [True, False] == told
    assert watched.frozen


def test_a_worker_counts_under_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It vanishes with the worker, and no more is said afterwards."""
    monkeypatch.setattr(watches, "HEARTBEAT_EVERY_S", 0.01)
    store = MemoryStore()
    heard = threading.Semaphore(0)
    store.subscribe(HEARTBEAT, heard.release)
    beats = Heartbeat(store, "one", lambda: None)
    before = set(threading.enumerate())
    beats.start()
    (thread,) = [each for each in threading.enumerate() if each not in before]
    for _ in range(3):
        assert heard.acquire(timeout=60)
    assert int(store.get_prefix(HEARTBEAT)[f"{HEARTBEAT}one"]) >= 2
    beats.stop()
    thread.join(60)
    assert not thread.is_alive()
    store.drop_owner("one")
    assert {} == store.get_prefix(HEARTBEAT)


def test_a_call_that_fails_does_not_end_the_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is woken, because its own call decides whether the store is lost."""
    monkeypatch.setattr(watches, "HEARTBEAT_EVERY_S", 0.01)
    store, put = MemoryStore(), MemoryStore.transaction
    fails = iter([True])

    def transaction(*given: Any) -> bool:
        if next(fails, False):
            raise StoreLost("too slow")
        return put(store, *given)

    monkeypatch.setattr(store, "transaction", transaction)
    heard, woken = threading.Semaphore(0), threading.Semaphore(0)
    store.subscribe(HEARTBEAT, heard.release)
    beats = Heartbeat(store, "one", woken.release)
    beats.start()
    assert woken.acquire(timeout=60)
    assert heard.acquire(timeout=60)
    beats.stop()
    assert not woken.acquire(blocking=False)


CHILD = """
import socket, subprocess, sys
server = socket.create_server((sys.argv[1], 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:]])
"""


def listening(*addresses: str) -> subprocess.Popen[str]:
    """A process whose child listens there; its first line is the port."""
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD, *addresses],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_program_that_goes_past_the_library_is_told_once() -> None:
    """Also where it is not the command itself that listens."""
    told: queue.SimpleQueue[str] = queue.SimpleQueue()
    with listening("0.0.0.0") as process:  # noqa: S104
        assert process.stdout is not None
        port = int(process.stdout.readline())
        lookout = SocketWatch(process.pid, "nobody", "127.0.0.5", told.put, (0.0, 0.0, 0.0))
        text = told.get(timeout=60)
        lookout.join()
        process.communicate()
    assert f"listens at every address, port {port}, and not at 127.0.0.5 alone" in text
    assert told.empty()


DAEMON = """
import os, socket, sys
server = socket.create_server(("0.0.0.0", 0))
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
print(os.getpid(), server.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_a_daemon_is_told_too(tmp_path: Path) -> None:
    """It is nobody's child any more, but carries the marker of what started it."""
    told: queue.SimpleQueue[str] = queue.SimpleQueue()
    marker = str(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", DAEMON],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, processes.MARKER: marker},
    ) as process:
        assert process.stdout is not None
        daemon, port = map(int, process.stdout.readline().split())
        process.wait()
        lookout = SocketWatch(process.pid, marker, "127.0.0.5", told.put, (0.0,))
        text = told.get(timeout=60)
        lookout.close()
        process.communicate()  # closes its stdin, which ends it
    assert f"process {daemon} listens at every address, port {port}" in text


def test_a_program_that_obeys_is_not_told() -> None:
    """Nor one that listens for its own machine."""
    told: list[str] = []
    with listening("127.0.0.9") as process:
        assert process.stdout is not None
        process.stdout.readline()
        SocketWatch(process.pid, "nobody", "127.0.0.5", told.append, (0.0,)).join()
        process.communicate()
    assert [] == told


def test_nothing_is_told_when_it_is_over() -> None:
    """The log is closed then, and its number may be another file's."""
    told: list[str] = []
    with listening("0.0.0.0") as process:  # noqa: S104
        assert process.stdout is not None
        process.stdout.readline()
        lookout = SocketWatch(process.pid, "nobody", "127.0.0.5", told.append, (3600.0,))
        lookout.close()
        process.communicate()
    assert [] == told
