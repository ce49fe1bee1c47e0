"""MFCC: the cosine transform of a log mel spectrum, as `librosa.feature.mfcc` defines it."""

from dataclasses import dataclass
from typing import ClassVar

from audioloom_audio.errors import require
from audioloom_audio.features.engines import mel_engine, resolved
from audioloom_audio.features.feature import Engine, Transform, WindowShape
from audioloom_audio.features.mel import MelSpectrum, MelTransform


@dataclass(frozen=True)
class Mfcc(MelSpectrum):
    """Mel-frequency cepstral coefficients, from c0.

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

    def resolve(self, engine: Engine, window: WindowShape) -> str:
        """See `Feature.resolve`."""
        return resolved(self, window, engine)

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """See `Feature.transform`."""
        made = mel_engine(self, window, engine, self.n_mfcc)
        return MelTransform(self, window, made.powers, made.cepstra)
