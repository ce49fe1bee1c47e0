"""Waveform: the samples of a window themselves."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from audioloom_audio.features.feature import Analysis, Engine, Level, Transform, WindowShape


@dataclass(frozen=True)
class Waveform:
    """The samples of a window, as one row."""

    name: ClassVar[str] = "waveform"
    level: ClassVar[Level] = "window"
    agreement: ClassVar[None] = None

    def check(self, window: WindowShape) -> None:
        """Every window has samples."""

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """One row of samples."""
        return (1, window.samples)

    def valid_frames(self, window: WindowShape, valid: int) -> int:
        """The recorded samples: a frame is a sample."""
        del window
        return valid

    def resolve(self, engine: Engine, window: WindowShape) -> str:
        """NumPy copies samples; there is nothing to compute."""
        del engine, window
        return "numpy"

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """See `Feature.transform`."""
        del engine
        return _Samples(window)


class _Samples:
    margin = 0

    def __init__(self, window: WindowShape) -> None:
        self.kept = (1, window.samples)

    def analyse(self, padded: NDArray[np.float32], valid: int) -> Analysis:
        """Take the samples; their power tells silence."""
        del valid
        return Analysis(padded[np.newaxis], loudest_power(padded))

    def values(self, analysed: NDArray[np.float32], loudest: float) -> NDArray[np.float32]:
        """Copy the samples."""
        del loudest
        return analysed.copy()


def loudest_power(samples: NDArray[np.float32]) -> float:
    """The largest power of a sample; not finite where float32 overflows."""
    peak = np.float32(max(samples.max(), -samples.min()))
    with np.errstate(over="ignore"):
        return float(peak * peak)
