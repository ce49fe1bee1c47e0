"""Resample a stream of samples by soxr's HQ, as librosa does."""

import math
from collections.abc import Iterator

import numpy as np
import soxr
from numpy.typing import NDArray

# soxr always gets pieces of one size, so that the bits of its output do not depend on the blocks of
# a decoder. These are the fastest sizes to a higher and to a lower rate; pieces of 262144 samples
# would be four times slower.
_PIECE_UP, _PIECE_DOWN = 4096, 32768


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
