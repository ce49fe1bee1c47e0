"""Log-mel: the levels of mel bands in decibels, as `librosa.power_to_db` of a mel spectrogram."""

from dataclasses import dataclass
from typing import ClassVar

from audioloom_audio.features.engines import mel_engine, resolved
from audioloom_audio.features.feature import Engine, Transform, WindowShape
from audioloom_audio.features.mel import MelSpectrum, MelTransform


@dataclass(frozen=True)
class LogMel(MelSpectrum):
    """Levels of mel bands in decibels, from the lowest band."""

    name: ClassVar[str] = "log_mel"

    def shape(self, window: WindowShape) -> tuple[int, int]:
        """Bands and frames."""
        return (self.n_mels, self.frames(window))

    def resolve(self, engine: Engine, window: WindowShape) -> str:
        """See `Feature.resolve`."""
        return resolved(self, window, engine)

    def transform(self, window: WindowShape, engine: Engine) -> Transform:
        """See `Feature.transform`."""
        made = mel_engine(self, window, engine, 0)
        return MelTransform(self, window, made.powers, made.decibels)
