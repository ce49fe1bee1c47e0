"""A feature: its settings know the shape of the values, its transform computes them.

A window is analysed when its samples are there, and gets its values when its level is known: that
of the window itself, or of the whole recording, for which the analyses of all windows wait.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Engine = Literal["auto", "numpy", "native", "librosa"]
Level = Literal["window", "recording"]

POWER_FLOOR = np.float32(1e-10)  # -100 dB, librosa's amin: a window without more is silent


@dataclass(frozen=True)
class WindowShape:
    """The samples of a window.

    Attributes:
        sample_rate: Hz.
        samples: Number of samples, the padding included.
    """

    sample_rate: int
    samples: int


class Analysis(NamedTuple):
    """The part of a window from which its values follow.

    Attributes:
        values: float32 matrix; memory of the transform, valid until its next window.
        loudest: Its largest power. Infinite or NaN if the samples are too large for float32.
    """

    values: NDArray[np.float32]
    loudest: float


@dataclass(frozen=True)
class Transform:
    """The computation of a feature; each thread needs its own, as it holds scratch memory.

    Attributes:
        engine: The engine that computes it; never ``auto``.
        margin: Zeros that the samples of a window need on either side.
        kept: Shape of the values of an analysis.
        analyse: Analyses the padded samples of a window; the second argument is the number of
            samples that were recorded, all later samples are zero. Raises `RefusedRecording`.
        values: Computes the values from those of a finite analysis, which may be overwritten, and
            from the power that the level is relative to: at least that of the analysis.
    """

    engine: str
    margin: int
    kept: tuple[int, int]
    analyse: Callable[[NDArray[np.float32], int], Analysis]
    values: Callable[[NDArray[np.float32], float], NDArray[np.float32]]


class Feature(Protocol):
    """The settings of a feature; equal settings give equal values."""

    @property
    def name(self) -> str:
        """Name of the feature: letters, digits and ``_``."""

    @property
    def level(self) -> Level:
        """Whether values are relative to the level of the window or of the recording."""

    @property
    def agreement(self) -> float | None:
        """How far a value may lie from librosa's, before normalisation; None if it has no such."""

    def check(self, window: WindowShape) -> None:
        """Raise `BadSettings` if there can be no such feature of such windows."""

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """Shape of the values of a window: coefficients, frames."""

    def valid_frames(self, window: WindowShape, valid: int) -> int:
        """Frames centred within the first *valid* samples, from the first."""

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """Make a transform; the engine ``auto`` becomes the fastest that works.

        Raises:
            MissingDecoder: The engine is not installed, or this processor cannot run it.
            BadSettings: The engine does not support these settings.
        """
