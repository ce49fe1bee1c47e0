"""Spool mel powers on scratch disk until the loudest window of the recording is known."""

from __future__ import annotations

import struct
import tempfile
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from audioloom_audio.settings import MfccSettings

_HEAD: Final = struct.Struct("<qd")  # valid samples, loudest
_IN_MEMORY: Final = 4 << 20  # a short recording needs no disk


class Spool:
    """A queue of windows on disk; memory does not grow with its length."""

    def __init__(self, settings: MfccSettings) -> None:
        self._shape = (settings.frames, settings.n_mels)
        # `close` or the end of `drain` closes it.
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self.loudest = 0.0

    def add(self, valid: int, mel: NDArray[np.float32], loudest: float, *, keep: bool) -> None:
        """Add a window; without *keep* only its loudness is used."""
        self.loudest = max(self.loudest, loudest)
        if keep:
            self._file.write(_HEAD.pack(valid, loudest))
            self._file.write(mel.tobytes())

    def drain(self) -> Iterator[tuple[int, NDArray[np.float32], float]]:
        """Yield valid samples, mel powers and loudest power of each window, in order, once."""
        self._file.seek(0)
        size = 4 * self._shape[0] * self._shape[1]
        while head := self._file.read(_HEAD.size):
            valid, loudest = _HEAD.unpack(head)
            mel = np.frombuffer(bytearray(self._file.read(size)), np.float32)
            yield valid, mel.reshape(self._shape), loudest
        self.close()

    def close(self) -> None:
        """Free the space on disk."""
        self._file.close()
