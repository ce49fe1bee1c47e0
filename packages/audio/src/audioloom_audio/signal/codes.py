"""Convert codes to samples, and find the peak, by NumPy; every operation is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from audioloom_audio.signal.channels import MIX, take_signals

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SCALE: Final = np.float32(1 / 32768)
# Both channels scaled and halved in one product. It is exact: 17 bits fit a float32.
_HALVES: Final = np.full(2, 1 / 65536, np.float32)


class Samples(Protocol):
    """Converts codes to samples; all implementations give the same bits."""

    def signal(
        self, codes: NDArray[np.integer[Any]], number: int, table: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Samples ``(frames,)`` of one channel of *codes* ``(frames, channels)``, or of their mean.

        The codes are int16, or bytes whose samples are in *table*; the channel is a number from
        `channels.signal_numbers`.
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
