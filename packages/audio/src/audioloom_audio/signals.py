"""The signals that become windows: chosen, converted from codes to samples, resampled.

Choosing and converting are exact.
"""

import math
from collections.abc import Iterator
from typing import Any, Final, Literal, Protocol

import numpy as np
import soxr
from numpy.typing import NDArray

from audioloom_audio.errors import RefusedRecording

MIX: Final = -1
MAX_CHANNELS: Final = 64
_SCALE: Final = np.float32(1 / 32768)
# Both channels scaled and halved in one product. It is exact: 17 bits fit a float32.
_HALVES: Final = np.full(2, 1 / 65536, np.float32)
# soxr always gets pieces of one size, so that the bits of its output do not depend on the blocks of
# a decoder. These are the fastest sizes to a higher and to a lower rate; pieces of 262144 samples
# would be four times slower.
_PIECE_UP, _PIECE_DOWN = 4096, 32768

Signals = tuple[NDArray[np.float32], ...]
Channels = Literal["mix", "split", "left", "right"]


def signal_numbers(wanted: Channels, channels: int, name: str) -> tuple[int, ...]:
    """The numbers of the channels to extract; `MIX` is the average of all.

    Raises:
        RefusedRecording: There are too many channels, or the wanted channel is missing.
    """
    if channels > MAX_CHANNELS:
        raise RefusedRecording(
            "bad_channels", name, f"at most {MAX_CHANNELS} channels", f"{channels} channels"
        )
    if wanted == "mix":
        return (MIX,)
    if wanted == "split":
        return tuple(range(channels))
    number = {"left": 0, "right": 1}[wanted]
    if number >= channels:
        raise RefusedRecording(
            "bad_channels", name, "two channels, to take the right one", "a mono recording"
        )
    return (number,)


def take_signals(block: NDArray[np.float32], numbers: tuple[int, ...]) -> Signals:
    """Take the signals *numbers* of a block ``(frames, channels)``, each ``(frames,)``."""
    return tuple(_mix(block) if number == MIX else block[:, number] for number in numbers)


def _mix(block: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average the channels, added in their order, so the bits do not depend on the block length."""
    channels = block.shape[1]
    if channels == 1:
        return block[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):  # a later check finds infinity
        total = block[:, 0] + block[:, 1]
        for number in range(2, channels):
            total += block[:, number]
        total /= np.float32(channels)
    return total


class Samples(Protocol):
    """Converts codes to samples; all implementations give the same bits."""

    def signal(
        self, codes: NDArray[np.integer[Any]], number: int, table: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Samples ``(frames,)`` of one channel of *codes* ``(frames, channels)``, or of their mean.

        The codes are int16, or bytes whose samples are in *table*; the channel is a number from
        `signal_numbers`.
        """

    def peak(self, samples: NDArray[np.float32]) -> float:
        """The largest magnitude of *samples* ``(count,)``; not finite if a sample is not finite."""


def signal(
    codes: NDArray[np.integer[Any]], number: int, table: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """One signal of *codes* ``(frames, channels)``; see `Samples`."""
    if number != MIX:
        codes = codes[:, number : number + 1]
    elif table is None and codes.shape[1] == 2:  # noqa: PLR2004 - stereo
        return codes.astype(np.float32) @ _HALVES
    if table is not None:
        block = table.take(codes)
    else:
        block = codes.astype(np.float32)
        block *= _SCALE
    return take_signals(block, (MIX,))[0]


def peak(samples: NDArray[np.float32]) -> float:
    """The largest magnitude of *samples*; NaN if a sample is NaN."""
    return max(float(samples.max()), -float(samples.min())) if len(samples) else 0.0


class Resampler:
    """Resamples one channel of one recording; not shared, as it holds the filter's state.

    The concatenated output equals ``librosa.resample(whole, res_type="soxr_hq")`` bit for bit.
    """

    def __init__(self, from_rate: int, to_rate: int) -> None:
        self._ratio = float(to_rate) / from_rate
        self._stream = (
            None
            if from_rate == to_rate
            else soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32", quality="HQ")
        )
        self._piece = _PIECE_UP if from_rate < to_rate else _PIECE_DOWN
        self._spool = np.empty(self._piece, np.float32)
        self._waits = 0
        self._taken = 0
        self._given = 0

    def push(self, samples: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """Add *samples* (float32, any number); yield the output so far as arrays of any length.

        An array is valid until the next array is requested.
        """
        if self._stream is None:
            yield samples
            return
        self._taken += len(samples)
        position = 0
        while position < len(samples):
            count = min(self._piece - self._waits, len(samples) - position)
            piece = samples[position : position + count]
            position += count
            if count < self._piece:
                self._spool[self._waits : self._waits + count] = piece
                self._waits += count
                if self._waits < self._piece:
                    break
                piece = self._spool
                self._waits = 0
            resampled = self._stream.resample_chunk(piece)
            self._given += len(resampled)
            yield resampled

    def finish(self) -> Iterator[NDArray[np.float32]]:
        """Yield the rest of the output, cut or zero-padded to librosa's length; call it once."""
        if self._stream is None or not self._taken:
            return
        rest = self._stream.resample_chunk(self._spool[: self._waits], last=True)
        # soxr gives one sample too few for some lengths; the contract has librosa's length.
        missing = math.ceil(self._taken * self._ratio) - self._given - len(rest)
        if missing < 0:
            yield rest[:missing]
        else:
            yield np.concatenate([rest, np.zeros(missing, np.float32)])
