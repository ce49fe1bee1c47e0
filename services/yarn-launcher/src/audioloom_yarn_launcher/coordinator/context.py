"""What the coordinator works with, and how it looks and waits."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from signal import Signals

from audioloom_yarn_launcher.coordinator.failure_detector import LOOK_EVERY_S, Silence
from audioloom_yarn_launcher.coordinator.sidecars import Beside
from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.backend import Workers
from audioloom_yarn_launcher.rendezvous.causes import Cause, Loss
from audioloom_yarn_launcher.rendezvous.kv import KeyValueStore
from audioloom_yarn_launcher.rendezvous.messages import (
    BEAT,
    WORKER,
    Exit,
    Plan,
    Reports,
    Roster,
    read_reports,
)


class Interruption:
    """Whether the launcher was told to stop, and how often; set from a signal handler."""

    def __init__(self, wakes: queue.SimpleQueue[None]) -> None:
        self._wakes = wakes
        self._got: list[Signals] = []  # appended to: one handler may interrupt another

    def __call__(self, number: int, _frame: object = None) -> None:
        """Take a signal. The first is the cause; those after it only say that it is urgent."""
        self._got.append(Signals(number))
        self._wakes.put(None)

    @property
    def signal(self) -> Signals | None:
        """The first that came; None if none did."""
        return self._got[0] if self._got else None

    @property
    def times(self) -> int:
        """How many came."""
        return len(self._got)


@dataclass(frozen=True)
class Gang:
    """What the coordinator works with. The workers are those of the gang alone."""

    store: KeyValueStore
    workers: Workers
    plan: Plan
    wakes: queue.SimpleQueue[None]
    interruption: Interruption
    limits: Limits
    beside: Beside


@dataclass(frozen=True)
class Generation:
    """How a generation went.

    Args:
        roster: who ran; None if the gang was never complete.
        cause: why it ended; None if every process finished well.
        exits: how the processes ended, by rank.
        lost: what happened to the workers that vanished, by rank.
        executed_s: for how long the gang was complete.
        arrivals: how far each worker came, if the gang was not complete in time.
    """

    roster: Roster | None
    cause: Cause | None
    exits: Mapping[int, Exit] = field(default_factory=dict)
    lost: Mapping[int, Loss] = field(default_factory=dict)
    executed_s: float = 0.0
    arrivals: tuple[Arrival, ...] = ()


def pause(gang: Gang, seconds: float) -> None:
    """Wait, unless the launcher is told to stop."""
    deadline = time.monotonic() + seconds
    while gang.interruption.signal is None and (left := deadline - time.monotonic()) > 0:
        wait(gang, min(left, LOOK_EVERY_S))


def interrupted(gang: Gang) -> Cause | None:
    """The cause that a signal to the launcher is."""
    number = gang.interruption.signal
    if number is None:
        return None
    return Cause("interrupted", f"the launcher got {number.name}", exit_code=128 + number)


def reports_of(gang: Gang, generation: int) -> Reports:
    """What the workers have said of a generation until now."""
    return read_reports(gang.store.get_prefix(WORKER), generation)


def wait(gang: Gang, seconds: float) -> None:
    """Until something happens, or for so long; those beside the gang are looked after."""
    gang.beside.tend()
    with suppress(queue.Empty):
        gang.wakes.get(timeout=seconds)
        while True:  # many hints, one look
            gang.wakes.get_nowait()


def listen(gang: Gang, silence: Silence) -> Silence:
    """How long each worker has said nothing, by the beats that have come since."""
    at = time.monotonic()
    if not silence.due(at):
        return silence
    beats = gang.store.get_prefix(BEAT)
    return silence.heard({key.removeprefix(BEAT): count for key, count in beats.items()}, at)


def frozen_for(seconds: float, which: str = "") -> Loss:
    """What happened to a worker that was ended because it said nothing."""
    said = f"its agent{which} had said nothing for {seconds:.0f} s"
    return Loss(f"{said}: it was frozen, and was ended")
