import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.messages import HEARTBEAT
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.worker import heartbeat
from audioloom_yarn_launcher.worker.heartbeat import Heartbeat, WatchedProcess
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
    monkeypatch.setattr(heartbeat, "HEARTBEAT_EVERY_S", 0.01)
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
