"""Mel spectra of windows: the settings that MFCC and log-mel share."""

from dataclasses import dataclass
from typing import ClassVar

from audioloom_audio.errors import require
from audioloom_audio.features.feature import Level, WindowShape


@dataclass(frozen=True)
class MelSpectrum:
    """Settings of a mel spectrum, with the names and defaults of librosa.

    Attributes:
        n_fft: Samples per frame; even.
        hop_length: Samples from one frame to the next.
        n_mels: Mel bands.
        fmin: Lowest frequency of the bands in Hz.
        fmax: Highest frequency of the bands in Hz; half the sample rate by default.
        top_db: Levels lower than this many dB below the loudest band are raised to that level.
        level: The loudest band is that of the ``window``, as in a separate clip, or that of all
            windows of the ``recording`` (and channel). ``recording`` reads every recording to its
            end before the first window, and keeps mel powers on scratch disk (16 kB per second).
    """

    agreement: ClassVar[float] = 3e-4
    """Decibels; of MFCC only c0 comes near it. Measured over random geometries by the tests."""

    n_fft: int = 2048
    hop_length: int = 512
    n_mels: int = 128
    fmin: float = 0.0
    fmax: float | None = None
    top_db: float = 80.0
    level: Level = "window"

    def check(self, window: WindowShape) -> None:
        """Raise `BadSettings` if a setting is outside its range."""
        nyquist = window.sample_rate / 2
        for field, low, high in (
            ("n_fft", 2, 1 << 16),
            ("hop_length", 1, self.n_fft),
            ("n_mels", 1, self.n_fft // 2),
            ("top_db", 1, 1000),
            ("fmin", 0, nyquist),
        ):
            holds = low <= getattr(self, field) <= high
            require(holds, field, f"{low:g} to {high:g}", getattr(self, field))
        require(self.n_fft % 2 == 0, "n_fft", "an even number", self.n_fft)
        above = f"more than fmin ({self.fmin:g}) and at most {nyquist:g}"
        require(self.fmin < self.highest(window) <= nyquist, "fmax", above, self.fmax)
        require(self.level in ("window", "recording"), "level", "window or recording", self.level)

    def highest(self, window: WindowShape) -> float:
        """The highest frequency of the bands in Hz."""
        return window.sample_rate / 2 if self.fmax is None else self.fmax

    def frames(self, window: WindowShape) -> int:
        """Frames per window: one centred on its first sample, then one every ``hop_length``."""
        return 1 + window.samples // self.hop_length

    def valid_frames(self, window: WindowShape, valid: int) -> int:
        """Frames centred within the first *valid* samples, from the first."""
        return 1 + valid // self.hop_length
