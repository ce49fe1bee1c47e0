import itertools
import os
import pty
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from audioloom_yarn_launcher.system import interrupts
from audioloom_yarn_launcher.system.interrupts import InterruptPrompt, SignalState, can_ask
from launcher_processes import MEMBER, alive

ASKED = "Ctrl-C once more ends it"
CTRL_C = b"\x03"
PATIENCE_S = 60
PROGRAM = """
import signal, sys, time
from audioloom_yarn_launcher.system.interrupts import InterruptPrompt
told = []
asks = InterruptPrompt(lambda number: told.append(f"took {number}"), lambda: told.append("left"))
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, asks)
print("ready", flush=True)
while not told:
    time.sleep(0.05)
print(told, flush=True)
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


def test_without_a_terminal_nobody_is_asked() -> None:
    """A signal is taken at once, as ever."""
    took: list[int] = []
    assert not can_ask()
    InterruptPrompt(took.append)(signal.SIGINT)
    assert [signal.SIGINT] == took


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"e\n", "took 2"),
        (b"l\n", "left"),
        (CTRL_C, "took 2"),
        (b"nonsense\n\ne\n", "took 2"),
    ],
)
def test_the_person_decides(at_a_terminal: Start, typed: bytes, said: str) -> None:
    """By a letter, or by a second Ctrl-C; what is no answer is asked for again."""
    terminal = at_a_terminal("-c", PROGRAM)
    terminal.until("ready")
    terminal.type(CTRL_C)
    terminal.until(ASKED)
    terminal.until("w  wait on")
    terminal.type(typed)
    terminal.until(said)
    assert 0 == terminal.end()


def test_other_signals_are_not_asked_about(at_a_terminal: Start) -> None:
    """Who sends SIGTERM means it."""
    terminal = at_a_terminal("-c", PROGRAM)
    terminal.until("ready")
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.until("took 15")
    assert ASKED not in terminal.seen


def test_a_run_of_this_machine_goes_on_until_its_end_is_asked_for(
    at_a_terminal: Start, launches: Any
) -> None:
    """It cannot be left: its workers end with it. Its processes hear nothing of Ctrl-C."""
    member = (sys.executable, str(MEMBER), str(launches.notes))
    words = ("run", "--root", str(launches.root), "--", *member)
    terminal = at_a_terminal("-m", "audioloom_yarn_launcher", *words)
    pid = launches.note(0, 1)["pid"]
    terminal.until("complete")
    terminal.type(CTRL_C)
    terminal.until("w  wait on")
    assert "leave" not in terminal.seen
    terminal.type(b"w\n")
    terminal.until("It goes on")
    assert alive(pid)
    terminal.type(CTRL_C)
    terminal.until("w  wait on")
    terminal.type(b"e\n")
    assert 130 == terminal.end()
    assert not alive(pid)


def test_a_question_ends_with_the_run(at_a_terminal: Start, launches: Any) -> None:
    """Nobody has to answer it."""
    member = (sys.executable, str(MEMBER), str(launches.notes))
    words = ("run", "--root", str(launches.root), "--", *member)
    terminal = at_a_terminal("-m", "audioloom_yarn_launcher", *words)
    launches.note(0, 1)
    terminal.until("complete")
    terminal.type(CTRL_C)
    terminal.until("w  wait on")
    launches.go()
    assert 0 == terminal.end()


def comes_at(step: int, first: signal.Signals, then: signal.Signals, asks: InterruptPrompt) -> bool:
    """Take *first*, and *then* at this bytecode of the handler; whether it has as many."""
    steps = itertools.count()

    def trace(frame: Any, event: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and next(steps) == step:
            asks(then)
        return trace

    def take() -> None:
        sys.settrace(trace)
        asks(first)

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), f"the handler waits for itself at bytecode {step}"
    return next(steps) > step


@pytest.mark.parametrize(
    "take", [lambda: SignalState(lambda: queue.SimpleQueue[None]().put(None)), SignalState]
)
def test_a_signal_may_come_while_another_is_taken(
    take: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the handler is: both are counted, and none waits for the other."""
    monkeypatch.setattr(interrupts, "can_ask", lambda: False)
    for step in itertools.count():
        taken = take()
        if not comes_at(step, signal.SIGINT, signal.SIGTERM, InterruptPrompt(taken)):
            break
        assert 2 == taken.times
    assert step > 10
