"""A signal cut into windows, each turned into its features as soon as it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from audioloom_mfcc.cepstra import POWER_FLOOR
from audioloom_mfcc.engines import engine_for
from audioloom_mfcc.errors import OutOfRange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from audioloom_mfcc.cepstra import Coefficients
    from audioloom_mfcc.settings import MfccSettings

_MIN_DEVIATION: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Window:
    """The features of one window of one channel.

    Attributes:
        channel: Number of the channel, from 0; -1 for the average of all.
        window: Number of the window in its channel, from 0.
        start_seconds: Where it begins in the recording.
        valid_samples: Samples that were recorded, at the settings' rate; the rest is padding.
        valid_frames: Frames centred within the recorded samples, from the first.
        values: float32 or float16 ``(n_mfcc, frames)``, C order, always finite.
        flags: ``silent`` (no mel band of any frame above -100 dB: the values are those of
            silence) and ``constant`` (nothing to normalise by: the values are zeros).
    """

    channel: int
    window: int
    start_seconds: float
    valid_samples: int
    valid_frames: int
    values: NDArray[np.floating]
    flags: tuple[str, ...] = ()


class Windower:
    """Windows of one signal, at the settings' rate; holds one window of samples and no more."""

    def __init__(self, channel: int, settings: MfccSettings, name: str) -> None:
        self._channel = channel
        self._settings = settings
        self._name = name
        engine_for(settings)  # what is missing is told now, not in the first window
        self._margin = settings.n_fft // 2
        self._padded = np.empty(settings.window_samples + settings.n_fft, np.float32)
        self._padded[: self._margin] = self._padded[-self._margin :] = 0
        self._filled = 0
        self._count = 0

    @property
    def satisfied(self) -> bool:
        """No further window is wanted."""
        return self._settings.windows == "first" and self._count > 0

    def push(self, samples: NDArray[np.float32]) -> Iterator[Window]:
        """Windows completed by *samples*, which are copied before the next one is asked for."""
        length = self._settings.window_samples
        position = 0
        while position < len(samples) and not self.satisfied:
            count = min(length - self._filled, len(samples) - position)
            start = self._margin + self._filled
            self._padded[start : start + count] = samples[position : position + count]
            self._filled += count
            position += count
            if self._filled == length:
                yield self._emit()

    def finish(self) -> Iterator[Window]:
        """The last window, padded with zeros, if samples are left."""
        if self._filled and not self.satisfied:
            end = self._margin + self._settings.window_samples
            self._padded[self._margin + self._filled : end] = 0
            yield self._emit()

    def _emit(self) -> Window:
        valid, self._filled = self._filled, 0
        number, self._count = self._count, self._count + 1
        # The engine is the thread's, asked for each time: a generator may change threads.
        coefficients = engine_for(self._settings)(self._padded, valid)
        start = number * self._settings.hop_seconds
        if not np.isfinite(coefficients.loudest):
            raise OutOfRange(
                self._name,
                expected="samples near +-1",
                found=f"samples too large for float32 in the window at {start:g} s",
            )
        values, flags = _finish_values(coefficients, self._settings)
        return Window(
            channel=self._channel,
            window=number,
            start_seconds=start,
            valid_samples=valid,
            valid_frames=1 + valid // self._settings.hop_length,
            values=values,
            flags=flags,
        )


def _finish_values(
    coefficients: Coefficients, settings: MfccSettings
) -> tuple[NDArray[np.floating], tuple[str, ...]]:
    """Normalise and convert; the flags the window earns on the way."""
    values: NDArray[np.floating] = coefficients.values
    flags: tuple[str, ...] = ("silent",) if coefficients.loudest <= POWER_FLOOR else ()
    if settings.normalise == "window":
        # Sums in float64: in float32 their order would show in the last digits.
        wide = values.astype(np.float64)
        mean = wide.mean()
        wide -= mean
        deviation = np.sqrt(np.square(wide, out=wide).mean())
        if deviation < _MIN_DEVIATION:
            values = np.zeros_like(values)
            flags = (*flags, "constant")
        else:
            values = values - np.float32(mean)
            values *= np.float32(1 / deviation)
    return values.astype(settings.dtype, copy=False), flags
