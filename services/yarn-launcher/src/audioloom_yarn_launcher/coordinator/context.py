"""The context of the coordinator: the gang, the signals to the launcher, and its waits."""

import queue
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from signal import Signals

from audioloom_yarn_launcher.coordinator.driver import Driver
from audioloom_yarn_launcher.coordinator.progress_record import ProgressRecord
from audioloom_yarn_launcher.coordinator.sidecars import Sidecars
from audioloom_yarn_launcher.coordinator.timeouts import LOOK_EVERY_S
from audioloom_yarn_launcher.rendezvous.backend import Arrival, KeyValueStore, Workers
from audioloom_yarn_launcher.rendezvous.causes import Cause, WorkerLost
from audioloom_yarn_launcher.rendezvous.limits import Limits
from audioloom_yarn_launcher.rendezvous.messages import Exit, Membership, Plan
from audioloom_yarn_launcher.system.interrupts import SignalState


@dataclass(frozen=True)
class Gang:
    """A gang with all that its coordinator works with. Sidecars have workers of their own."""

    store: KeyValueStore
    workers: Workers
    plan: Plan
    wakes: queue.SimpleQueue[None]
    signals: SignalState
    limits: Limits
    sidecars: Sidecars
    progress: ProgressRecord

    @property
    def driver(self) -> Driver:
        """The driver of the gang itself."""
        return Driver(self.store, self.workers, range(self.plan.gang_size))

    @property
    def interrupted(self) -> Cause | None:
        """The first signal to the launcher as the cause that ends a generation."""
        if not self.signals.times:
            return None
        number = Signals(self.signals.number)
        return Cause("interrupted", f"the launcher got {number.name}", exit_code=128 + number)

    def wait(self, seconds: float) -> None:
        """Wait for an event, at most *seconds*, and look after the sidecars."""
        self.sidecars.tend()
        with suppress(queue.Empty):
            self.wakes.get(timeout=seconds)
            while True:  # one look serves many hints
                self.wakes.get_nowait()

    def pause(self, seconds: float) -> None:
        """Wait for *seconds*; a signal ends the wait early."""
        deadline = time.monotonic() + seconds
        while not self.signals.times and (left := deadline - time.monotonic()) > 0:
            self.wait(min(left, LOOK_EVERY_S))


@dataclass(frozen=True)
class GenerationResult:
    """The result of one generation.

    Args:
        membership: the workers; None if the gang was never complete.
        cause: of its end; None if every process succeeded.
        executed_s: seconds in which the gang was complete.
    """

    membership: Membership | None
    cause: Cause | None
    exits: Mapping[int, Exit] = field(default_factory=dict)
    lost: Mapping[int, WorkerLost] = field(default_factory=dict)
    executed_s: float = 0.0
    arrivals: tuple[Arrival, ...] = ()
