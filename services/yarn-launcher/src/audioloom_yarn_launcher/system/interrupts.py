"""The signals to this process; at Ctrl-C a person at the terminal decides about the run."""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_EVERY_S = 0.2
STDIN = 0
_ANSWERS = {"e": "end it", "l": "leave it going: status, logs and attach find it", "w": "wait on"}
_SAID = {"e": "It is being ended.", "l": "It goes on without us.", "w": "It goes on, and we wait."}


@dataclass
class SignalState:
    """Signal handler that collects the signals to this process.

    Args:
        wake: called after each signal, to end a wait.
        numbers: of the signals. It only grows, because one handler may interrupt another.
        left: a person chose to leave the run alone.
    """

    wake: Callable[[], None] = lambda: None
    numbers: list[int] = field(default_factory=list)
    left: bool = False

    def __call__(self, number: int, _frame: object = None) -> None:
        """Record a signal: the first is the cause, later signals only make the end more urgent."""
        self.numbers.append(number)
        self.wake()

    @property
    def number(self) -> int:
        """The first signal; 0 without a signal."""
        return self.numbers[0] if self.numbers else 0

    @property
    def times(self) -> int:
        """Number of signals."""
        return len(self.numbers)

    def leave(self) -> None:
        """End the wait without ending the run."""
        self.left = True


@contextmanager
def taking_signals(signals: SignalState, *, may_leave: bool) -> Iterator[None]:
    """Collect signals, which no longer end this process; ask a person at a terminal first."""
    prompt = InterruptPrompt(signals, signals.leave if may_leave else None)
    before = {number: signal.signal(number, prompt) for number in SIGNALS}
    try:
        yield
    finally:
        prompt.close()
        for number, handler in before.items():
            signal.signal(number, handler)


class InterruptPrompt:
    """A signal handler that asks the person at the terminal before it passes a Ctrl-C on.

    It passes on without a question: other signals, a second Ctrl-C during the question, and a
    Ctrl-C after the person chose to end the run.

    Args:
        take: receives each signal that is passed on.
        leave: called to leave the run alone; None if the run ends with this process.
    """

    def __init__(
        self, take: Callable[[int], None], leave: Callable[[], None] | None = None
    ) -> None:
        self._take, self._leave = take, leave
        # Plain values, no lock: a signal may interrupt the handler of another signal and would
        # wait for a lock that its own thread holds.
        self._asking = False
        self._answered = False

    def __call__(self, number: int, _frame: object = None) -> None:
        """Handle a signal."""
        if number != signal.SIGINT or self._asking or self._answered or not can_ask():
            self._answered = True
            self._asking = False
            self._take(number)
            return
        self._asking = True
        threading.Thread(target=self._ask, name="question", daemon=True).start()

    def close(self) -> None:
        """Stop waiting for an answer: the run is over."""
        self._asking = False

    def _ask(self) -> None:
        offered = [each for each in _ANSWERS if each != "l" or self._leave is not None]
        lines = [f"  {each}  {_ANSWERS[each]}" for each in offered]
        _say("\nThe run goes on meanwhile. Type a letter and Enter; Ctrl-C once more ends it.")
        _say("\n".join(lines))
        while (answer := self._read()) is not None:
            if answer in offered:
                self._asking = False  # first, because a Ctrl-C after the message is a new one
                _say(_SAID[answer])
                self._heed(answer)
                return
            _say(f"One of {', '.join(offered)}:")

    def _heed(self, answer: str) -> None:
        if answer == "e":
            self._answered = True
            self._take(signal.SIGINT)
        elif answer == "l" and self._leave is not None:
            self._answered = True
            self._leave()

    def _read(self) -> str | None:
        """Read the first letter of a line; None once the question is withdrawn."""
        while self._asking:
            ready, _, _ = select.select([STDIN], [], [], LOOK_EVERY_S)
            if ready:
                line = os.read(STDIN, 1024)
                return line.decode(errors="replace").strip().lower()[:1] if line else "w"
        return None


def can_ask() -> bool:
    """Return whether a person at a terminal can see a question and answer it."""
    try:
        ours = os.tcgetpgrp(STDIN) == os.getpgrp()  # else a read would stop this process
        return ours and os.isatty(STDIN) and sys.stderr.isatty()
    except (OSError, ValueError, AttributeError):
        return False


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # the terminal is gone
        return
