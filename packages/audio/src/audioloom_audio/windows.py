"""Cut a signal into windows, and compute the features of each as soon as it is full."""

import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.errors import RefusedRecording
from audioloom_audio.features.feature import POWER_FLOOR, Analysis
from audioloom_audio.recording import Flag
from audioloom_audio.settings import ExtractionSettings, transform_for
from audioloom_audio.signals import Resampler

_MIN_DEVIATION: Final = 1e-6
_HEAD: Final = struct.Struct("<qd")  # valid samples, loudest
_IN_MEMORY: Final = 4 << 20  # a short recording needs no disk


@dataclass(frozen=True, eq=False)
class Window:
    """The features of one window of one channel.

    Attributes:
        channel: Number of the channel, from 0; -1 for the average of all.
        window: Number of the window in its channel, from 0.
        start_seconds: Start of the window in the recording.
        valid_samples: Samples that were recorded, at the settings' rate; the rest is padding.
        valid_frames: Frames centred within the recorded samples, from the first.
        values: float32 or float16 ``(coefficients, frames)``, C order, always finite.
        flags: ``silent`` (no mel band of any frame, or no sample, is above -100 dB: the values are
            those of silence) and ``constant`` (the deviation is zero, so the normalised values are
            zeros).
    """

    channel: int
    window: int
    start_seconds: float
    valid_samples: int
    valid_frames: int
    values: NDArray[np.floating]
    flags: tuple[Flag, ...] = ()


class Spool:
    """A queue of windows on disk; memory does not grow with its length."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        # `close` or the end of `drain` closes it.
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self.loudest = 0.0

    def add(self, valid: int, analysis: Analysis, *, keep: bool) -> None:
        """Add a window; without *keep* only its loudness is used."""
        self.loudest = max(self.loudest, analysis.loudest)
        if keep:
            self._file.write(_HEAD.pack(valid, analysis.loudest))
            self._file.write(analysis.values.tobytes())

    def drain(self) -> Iterator[tuple[int, Analysis]]:
        """Yield the valid samples and the analysis of each window, in order, once."""
        self._file.seek(0)
        size = 4 * self._shape[0] * self._shape[1]
        while head := self._file.read(_HEAD.size):
            valid, loudest = _HEAD.unpack(head)
            values = np.frombuffer(bytearray(self._file.read(size)), np.float32)
            yield valid, Analysis(values.reshape(self._shape), loudest)
        self.close()

    def close(self) -> None:
        """Free the space on disk."""
        self._file.close()


class Windower:
    """Resamples one signal and cuts it into windows; it holds one window of samples.

    With the level of the recording, analyses wait on scratch disk for the end of the recording, and
    only `finish` yields windows.
    """

    def __init__(self, channel: int, rate: int, settings: ExtractionSettings, name: str) -> None:
        self._channel = channel
        self._resampler = Resampler(rate, settings.sample_rate)
        self._settings = settings
        self._name = name
        self._length = settings.window.samples
        transform = transform_for(settings)  # a missing library fails now, not in the first window
        self._margin = transform.margin
        # Between the margins, samples or padding are written before they are read.
        self._padded = np.empty(self._length + 2 * self._margin, np.float32)
        self._padded[: self._margin] = 0
        self._padded[self._margin + self._length :] = 0
        whole = settings.feature.level == "recording"
        self._spool = Spool(transform.kept) if whole else None
        self._filled = 0
        self._fresh = 0  # held samples that were in no window yet
        self._passed = 0  # samples to leave out before the next window
        self._count = 0

    @property
    def satisfied(self) -> bool:
        """Whether no more samples are needed."""
        return self._settings.windows == "first" and self._count > 0 and self._spool is None

    def push(self, samples: NDArray[np.float32]) -> Iterator[Window]:
        """Copy *samples*, at the recorded rate, and yield the windows that they complete."""
        for resampled in self._resampler.push(samples):
            yield from self._cut(resampled)

    def _cut(self, samples: NDArray[np.float32]) -> Iterator[Window]:
        length = self._length
        position = 0
        while position < len(samples) and not self.satisfied:
            if self._passed:
                count = min(self._passed, len(samples) - position)
                self._passed -= count
            else:
                count = min(length - self._filled, len(samples) - position)
                start = self._margin + self._filled
                self._padded[start : start + count] = samples[position : position + count]
                self._filled += count
                self._fresh += count
            position += count
            if self._filled == length:
                yield from self._emit()

    def finish(self) -> Iterator[Window]:
        """Yield the last window, zero-padded, if samples are left; then the spooled windows."""
        for resampled in self._resampler.finish():
            yield from self._cut(resampled)
        if self._fresh and not self.satisfied:
            end = self._margin + self._length
            self._padded[self._margin + self._filled : end] = 0
            yield from self._emit()
        if self._spool is not None:
            for number, (valid, analysis) in enumerate(self._spool.drain()):
                yield self._window(number, valid, analysis, self._spool.loudest)

    def close(self) -> None:
        """Free the space on scratch disk."""
        if self._spool is not None:
            self._spool.close()

    def _emit(self) -> Iterator[Window]:
        number, valid = self._count, self._filled
        analysis = self._analyse(valid, f"in the window at {self._start(number):g} s")
        finished = []
        if self._spool is None:
            finished = [self._window(number, valid, analysis, analysis.loudest)]
        else:
            wanted = self._settings.windows == "all" or number == 0
            self._spool.add(valid, analysis, keep=wanted)
        self._count += 1
        self._advance()
        yield from finished

    def _analyse(self, valid: int, where: str) -> Analysis:
        # Transforms belong to threads, and a generator may change threads: look it up each time.
        try:
            analysis = transform_for(self._settings).analyse(self._padded, valid)
        except RefusedRecording as error:
            found = f"{error.found} {where}"
            raise RefusedRecording(error.kind, self._name, error.expected, found) from error
        if not np.isfinite(analysis.loudest):
            found = f"samples too large for float32 {where}"
            raise RefusedRecording("out_of_range", self._name, "samples near +-1", found)
        return analysis

    def _start(self, number: int) -> float:
        """Seconds from the start of the recording to that of a window."""
        return number * self._settings.hop_samples / self._settings.sample_rate

    def _advance(self) -> None:
        length, hop = self._length, self._settings.hop_samples
        kept = max(0, length - hop)
        self._padded[self._margin : self._margin + kept] = self._padded[
            self._margin + length - kept : self._margin + length
        ]
        self._filled, self._fresh, self._passed = kept, 0, max(0, hop - length)

    def _window(self, number: int, valid: int, analysis: Analysis, reference: float) -> Window:
        settings = self._settings
        values = transform_for(settings).values(analysis.values, reference)
        flags: tuple[Flag, ...] = ("silent",) if analysis.loudest <= POWER_FLOOR else ()
        if settings.normalise == "window":
            values, deviation = normalised(values)
            if not deviation:
                flags = (*flags, "constant")
        return Window(
            channel=self._channel,
            window=number,
            start_seconds=self._start(number),
            valid_samples=valid,
            valid_frames=settings.feature.valid_frames(settings.window, valid),
            values=self._stored(values, number),
            flags=flags,
        )

    def _stored(self, values: NDArray[np.float32], number: int) -> NDArray[np.floating]:
        """The values of a window in the type of the settings."""
        with np.errstate(over="ignore"):
            stored = values.astype(self._settings.dtype, copy=False)
        if stored.dtype == np.float16 and not np.isfinite(stored).all():
            largest = np.abs(values).max()
            found = f"{largest:g} in the window at {self._start(number):g} s"
            raise RefusedRecording(
                "out_of_range", self._name, "values that float16 holds, up to 65504", found
            )
        return stored


def normalised(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """Give values mean 0 and deviation 1 over all of them; also return their deviation.

    If the deviation is below 1e-6, the values are constant and become zeros.
    """
    # Sums are in float64: in float32 the last digits would depend on the order of the sum.
    wide = values.astype(np.float64)
    wide -= wide.mean()
    deviation = float(np.sqrt(np.einsum("cf,cf->", wide, wide) / wide.size))
    if deviation < _MIN_DEVIATION:
        return np.zeros_like(values), 0.0
    wide *= 1 / deviation
    return wide.astype(np.float32), deviation
