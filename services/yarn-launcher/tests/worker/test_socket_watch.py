import os
import queue
import subprocess
import sys
from pathlib import Path

from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.worker.socket_watch import SocketWatch

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
