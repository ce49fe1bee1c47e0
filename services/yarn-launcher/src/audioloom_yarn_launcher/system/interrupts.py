"""The signals to this process, collected while it waits for a run."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class SignalState:
    """Signal handler that collects the signals to this process.

    Args:
        wake: called after each signal, to end a wait.
        numbers: of the signals. It only grows, because one handler may interrupt another.
        left: the wait is to end without ending the run.
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


@contextmanager
def taking_signals(signals: SignalState, *, may_leave: bool) -> Iterator[None]:
    """Collect signals, which no longer end this process.

    A signal that this process was started to ignore stays ignored: nohup wants it of SIGHUP.
    With *may_leave*, Ctrl-C at a terminal and the end of the terminal end the wait, not the run.
    """

    def take(number: int, _frame: object = None) -> None:
        typed = number == signal.SIGINT and sys.stderr.isatty()
        if may_leave and (typed or number == signal.SIGHUP):
            signals.left = True
        else:
            signals(number)

    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, take) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
