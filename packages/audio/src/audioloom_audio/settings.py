"""The settings that determine the shape and the values of every window."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast, get_args, get_origin, get_type_hints

from audioloom_audio.decoding.formats import RawFormat
from audioloom_audio.errors import require
from audioloom_audio.features.feature import Engine, Feature, Transform, WindowShape
from audioloom_audio.features.mel_features import Mfcc
from audioloom_audio.signals import Channels

Windows = Literal["first", "all"]
Normalise = Literal["window", "none"]
Dtype = Literal["float32", "float16"]

_local = threading.local()


@dataclass(frozen=True)
class ExtractionSettings:
    """Settings of an extraction; the defaults are those of a plain librosa clip pipeline.

    Attributes:
        feature: The feature, with its own settings.
        sample_rate: Rate in Hz that every recording is resampled to.
        window_seconds: Length of a window. Each window is treated as a separate clip: zero-padded
            at both sides for its edge frames and normalised alone.
        hop_seconds: Time from the start of one window to the start of the next; the length of a
            window by default. A shorter hop makes windows overlap; a longer hop skips samples.
        windows: ``first`` stops decoding after one window per channel; ``all`` takes the whole
            recording, with the last window padded with zeros.
        channels: ``mix`` averages the channels (the result has number -1), ``split`` gives every
            channel its own windows, ``left`` and ``right`` take one channel.
        normalise: ``window`` subtracts the window's mean and divides by its standard deviation,
            over all values together; ``none`` leaves the values.
        dtype: Type of the values; the arithmetic is float32 either way.
        engine: The implementation, from samples to values: ``numpy``, ``native`` (compiled, an
            extra), ``librosa`` (an extra), or ``auto``: ``native`` if it works here, else
            ``numpy``. A waveform or a function needs none.
        raw: The format of files whose first bytes and name match no known format; with None, these
            files are refused.

    Raises:
        BadSettings: A value is outside its range; the message names the setting.
    """

    feature: Feature = field(default_factory=Mfcc)
    sample_rate: int = 16000
    window_seconds: float = 10.0
    hop_seconds: float | None = None
    windows: Windows = "first"
    channels: Channels = "mix"
    normalise: Normalise = "window"
    dtype: Dtype = "float32"
    engine: Engine = "auto"
    raw: RawFormat | None = None

    def __post_init__(self) -> None:
        rate, seconds = self.sample_rate, self.window_seconds
        require(1000 <= rate <= 768000, "sample_rate", "1000 to 768000", rate)  # noqa: PLR2004
        shortest = 1 / rate
        holds = shortest <= seconds <= 3600  # noqa: PLR2004 - an hour
        require(holds, "window_seconds", f"{shortest:g} to 3600", seconds)
        if self.hop_seconds is not None:
            within = shortest <= self.hop_seconds <= 86400  # noqa: PLR2004 - a day
            require(within, "hop_seconds", f"{shortest:g} to 86400", self.hop_seconds)
        _check_choices(self)
        self.feature.check(self.window)

    @cached_property
    def window(self) -> WindowShape:
        """The samples of a window, at ``sample_rate``."""
        return WindowShape(self.sample_rate, round(self.window_seconds * self.sample_rate))

    @property
    def hop_samples(self) -> int:
        """Samples from the start of one window to the start of the next, at ``sample_rate``."""
        if self.hop_seconds is None:
            return self.window.samples
        return round(self.hop_seconds * self.sample_rate)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a window's values: coefficients, frames."""
        return self.feature.shape(self.window)


def resolve_engine(settings: ExtractionSettings) -> str:
    """The engine that computes the feature here, which was tried; see `transform_for`."""
    return transform_for(settings).engine


def transform_for(settings: ExtractionSettings) -> Transform:
    """The calling thread's transform for *settings*; all recordings of a thread share its memory.

    Raises:
        MissingDecoder: the engine is not installed, or this processor cannot run it.
        BadSettings: the compiled engine does not support these settings.
    """
    if getattr(_local, "settings", None) != settings:
        _local.transform = settings.feature.transform(settings.window, settings.engine)
        _local.settings = settings
    return cast("Transform", _local.transform)


def _check_choices(settings: ExtractionSettings) -> None:
    for name, kind in get_type_hints(type(settings)).items():
        if get_origin(kind) is Literal:
            allowed = get_args(kind)
            found = getattr(settings, name)
            require(found in allowed, name, f"one of {', '.join(allowed)}", found)
