"""A stream of samples at one rate to a stream at another: soxr's HQ, as librosa resamples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import soxr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# soxr is fed pieces of exactly one size whatever arrives, so that the bits of its output cannot
# depend on how a decoder cuts its blocks. These are the fastest sizes to a higher and to a lower
# rate; pieces of 262144 samples would be four times slower.
_PIECE_UP, _PIECE_DOWN = 4096, 32768


class Resampler:
    """One channel of one recording; never shared, for it carries the filter's state.

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
        """What can be said after *samples* (float32, any number of them): arrays of any length.

        The arrays are only good until the next one is asked for.
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
        """What the filter still holds, cut or zero-padded to librosa's length; once, at the end."""
        if self._stream is None or not self._taken:
            return
        rest = self._stream.resample_chunk(self._spool[: self._waits], last=True)
        # soxr alone ends one sample short for some lengths; librosa's length is the contract.
        missing = math.ceil(self._taken * self._ratio) - self._given - len(rest)
        if missing < 0:
            yield rest[:missing]
        else:
            yield np.concatenate([rest, np.zeros(missing, np.float32)])
