import itertools
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from audioloom_yarn_launcher.system.interrupts import SignalState
from launcher_processes import MEMBER, alive

CTRL_C = b"\x03"
PATIENCE_S = 60
PROGRAM = """
import time
from audioloom_yarn_launcher.system.interrupts import SignalState, taking_signals
signals = SignalState()
with taking_signals(signals, may_leave=%s):
    print("ready", flush=True)
    while not signals.left and not signals.times:
        time.sleep(0.05)
print("left" if signals.left else f"took {signals.number}", flush=True)
"""


@dataclass
class Terminal:
    """A program that somebody at a terminal has started, and what is seen there."""

    pid: int
    descriptor: int
    seen: str = ""
    _read: int = field(default=0)

    def until(self, text: str) -> None:
        """Wait until this is seen, after what was waited for before."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen[self._read :]:
            assert time.monotonic() < deadline, f"waited in vain for {text}: {self.seen}"
            self.seen += os.read(self.descriptor, 4096).decode(errors="replace")
        self._read = self.seen.index(text, self._read) + len(text)

    def type(self, text: bytes) -> None:
        """Type this."""
        os.write(self.descriptor, text)

    def end(self) -> int:
        """Wait for the end of the program; its exit code."""
        try:
            while data := os.read(self.descriptor, 4096):
                self.seen += data.decode(errors="replace")
        except OSError:  # the end of a terminal
            pass
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


Start = Callable[..., Terminal]


@pytest.fixture
def at_a_terminal() -> Iterator[Start]:
    """Starts programs as a shell would, in the foreground of a terminal of their own."""
    started: list[Terminal] = []

    def start(*words: str) -> Terminal:
        pid, descriptor = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may run the tests
            os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
        started.append(Terminal(pid, descriptor))
        return started[-1]

    yield start
    for each in started:
        try:
            os.kill(each.pid, signal.SIGKILL)
            os.waitpid(each.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(each.descriptor)


@pytest.mark.parametrize(
    ("may_leave", "number", "said"),
    [
        (True, signal.SIGINT, "left"),
        (False, signal.SIGINT, "took 2"),
        (True, signal.SIGHUP, "left"),
        (False, signal.SIGHUP, "took 1"),
        (True, signal.SIGTERM, "took 15"),
    ],
)
def test_ctrl_c_and_the_end_of_a_terminal_leave_what_can_go_on_alone(
    at_a_terminal: Start, may_leave: bool, number: int, said: str
) -> None:
    """Who sends SIGTERM means it."""
    terminal = at_a_terminal("-c", PROGRAM % may_leave)
    terminal.until("ready")
    if number == signal.SIGINT:
        terminal.type(CTRL_C)
    else:
        os.kill(terminal.pid, number)
    terminal.until(said)
    assert 0 == terminal.end()


def test_without_a_terminal_nothing_is_left() -> None:
    """Who sends a signal to a program means it."""
    program = [sys.executable, "-c", PROGRAM % True]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert b"took 2\n" == process.stdout.readline()


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    """As nohup wants it of SIGHUP; the others are taken."""
    program = ["nohup", sys.executable, "-c", PROGRAM % True]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert b"took 15\n" == process.stdout.readline()


def test_a_run_of_this_machine_ends_at_ctrl_c(at_a_terminal: Start, launches: Any) -> None:
    """It cannot be left: its workers end with it."""
    member = (sys.executable, str(MEMBER), str(launches.notes))
    words = ("run", "--root", str(launches.root), "--", *member)
    terminal = at_a_terminal("-m", "audioloom_yarn_launcher", *words)
    pid = launches.note(0, 1)["pid"]
    terminal.until("complete")
    terminal.type(CTRL_C)
    assert 130 == terminal.end()
    assert not alive(pid)


def comes_at(step: int, first: signal.Signals, then: signal.Signals, taken: SignalState) -> bool:
    """Take *first*, and *then* at this bytecode of the handler; whether it has as many."""
    steps = itertools.count()

    def trace(frame: Any, event: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and next(steps) == step:
            taken(then)
        return trace

    def take() -> None:
        sys.settrace(trace)
        taken(first)

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), f"the handler waits for itself at bytecode {step}"
    return next(steps) > step


@pytest.mark.parametrize(
    "take", [lambda: SignalState(lambda: queue.SimpleQueue[None]().put(None)), SignalState]
)
def test_a_signal_may_come_while_another_is_taken(take: Callable[[], SignalState]) -> None:
    """Wherever the handler is: both are counted, and none waits for the other."""
    for step in itertools.count():
        taken = take()
        if not comes_at(step, signal.SIGINT, signal.SIGTERM, taken):
            break
        assert 2 == taken.times
    assert step > 10
