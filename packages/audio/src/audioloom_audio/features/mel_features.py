"""The features of mel spectra: MFCC and log-mel, as librosa defines them."""

from dataclasses import dataclass
from typing import ClassVar

from audioloom_audio.errors import require
from audioloom_audio.features.engines import mel_transform
from audioloom_audio.features.feature import Engine, Transform, WindowShape
from audioloom_audio.features.mel import MelSpectrum


@dataclass(frozen=True)
class LogMel(MelSpectrum):
    """Levels of mel bands in decibels, from the lowest band."""

    name: ClassVar[str] = "log_mel"

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """Bands and frames."""
        return (self.n_mels, self.frames(window))

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """See `Feature.transform`."""
        return mel_transform(self, window, engine)


@dataclass(frozen=True)
class Mfcc(MelSpectrum):
    """Mel-frequency cepstral coefficients, from c0: the cosine transform of log-mel levels.

    Attributes:
        n_mfcc: Coefficients kept.
    """

    name: ClassVar[str] = "mfcc"

    n_mfcc: int = 40

    def check(self, window: WindowShape) -> None:
        """Raise `BadSettings` if a setting is outside its range."""
        super().check(window)
        require(1 <= self.n_mfcc <= self.n_mels, "n_mfcc", f"1 to {self.n_mels}", self.n_mfcc)

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """Coefficients and frames."""
        return (self.n_mfcc, self.frames(window))

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """See `Feature.transform`."""
        return mel_transform(self, window, engine, self.n_mfcc)
