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
        return valid

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """Copy the samples; their power tells silence."""
        return Transform(
            "numpy",
            0,
            self.shape(window),
            lambda padded, _: Analysis(padded[np.newaxis], loudest_power(padded)),
            lambda analysed, _: analysed.copy(),
        )


def loudest_power(samples: NDArray[np.float32]) -> float:
    """The largest power of a sample; not finite where float32 overflows."""
    peak = np.float32(max(samples.max(), -samples.min()))
    with np.errstate(over="ignore"):
        return float(peak * peak)
