"""The settings that determine the shape and the values of every window."""

from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from audioloom_audio.errors import BadSettings

Windows = Literal["first", "all"]
Channels = Literal["mix", "split", "left", "right"]
Level = Literal["window", "recording"]
Normalise = Literal["window", "none"]
Dtype = Literal["float32", "float16"]
Coding = Literal["alaw", "mulaw", "gsm"]
Engine = Literal["auto", "numpy", "native", "librosa"]


@dataclass(frozen=True)
class RawFormat:
    """The format of recordings without a header.

    Attributes:
        coding: ``alaw``, ``mulaw`` (8 bits a sample) or ``gsm`` (GSM 06.10, 33 bytes for 20 ms).
        sample_rate: Hz.
        channels: Number of interleaved channels; 1 for ``gsm``.

    Raises:
        BadSettings: A value is outside its range; the message names it.
    """

    coding: Coding
    sample_rate: int = 8000
    channels: int = 1

    def __post_init__(self) -> None:
        _check_choices(self)
        _require(1000 <= self.sample_rate <= 768000, "sample_rate", "1000 to 768000", self)  # noqa: PLR2004
        most = 1 if self.coding == "gsm" else 64
        _require(1 <= self.channels <= most, "channels", f"1 to {most}", self)


@dataclass(frozen=True)
class MfccSettings:
    """Settings of an extraction; the defaults are those of a plain librosa clip pipeline.

    Attributes:
        sample_rate: Rate in Hz that every recording is resampled to.
        window_seconds: Length of a window. Each window is treated as a separate clip: zero-padded
            at both sides for its edge frames and normalised alone.
        hop_seconds: Time from the start of one window to the start of the next; the length of a
            window by default. A shorter hop makes windows overlap; a longer hop skips samples.
        n_mfcc: Coefficients kept, from c0.
        n_fft: Samples per frame; even.
        hop_length: Samples from one frame to the next.
        n_mels: Mel bands before the cosine transform.
        top_db: Levels lower than this many dB below the loudest band are raised to that level.
        level: The loudest band is that of the ``window``, as in a separate clip, or that of all
            windows of the ``recording`` (and channel). ``recording`` reads every recording to its
            end before the first window, and keeps mel powers on scratch disk (16 kB per second).
        windows: ``first`` stops decoding after one window per channel; ``all`` takes the whole
            recording, with the last window padded with zeros.
        channels: ``mix`` averages the channels (the result has number -1), ``split`` gives every
            channel its own windows, ``left`` and ``right`` take one channel.
        normalise: ``window`` subtracts the window's mean and divides by its standard deviation,
            over all coefficients and frames together; ``none`` leaves decibels.
        dtype: Type of the values; the arithmetic is float32 either way.
        engine: The implementation, from samples to coefficients: ``numpy``, ``native`` (compiled,
            an extra), ``librosa`` (an extra), or ``auto``: ``native`` if it works here, else
            ``numpy``.
        raw: The format of files whose first bytes and name match no known format; with None, these
            files are refused.

    Raises:
        BadSettings: A value is outside its range; the message names the setting.
    """

    sample_rate: int = 16000
    window_seconds: float = 10.0
    hop_seconds: float | None = None
    n_mfcc: int = 40
    n_fft: int = 2048
    hop_length: int = 512
    n_mels: int = 128
    top_db: float = 80.0
    level: Level = "window"
    windows: Windows = "first"
    channels: Channels = "mix"
    normalise: Normalise = "window"
    dtype: Dtype = "float32"
    engine: Engine = "auto"
    raw: RawFormat | None = None

    def __post_init__(self) -> None:
        shortest = 1 / self.sample_rate if self.sample_rate else 0
        if self.hop_seconds is not None:
            within = shortest <= self.hop_seconds <= 86400  # noqa: PLR2004 - a day
            _require(within, "hop_seconds", f"{shortest:g} to 86400", self)
        for field, low, high in (
            ("sample_rate", 1000, 768000),
            ("window_seconds", shortest, 3600),
            ("n_fft", 2, 1 << 16),
            ("hop_length", 1, self.n_fft),
            ("n_mels", 1, self.n_fft // 2),
            ("n_mfcc", 1, self.n_mels),
            ("top_db", 1, 1000),
        ):
            _require(low <= getattr(self, field) <= high, field, f"{low:g} to {high:g}", self)
        _require(self.n_fft % 2 == 0, "n_fft", "an even number", self)
        _check_choices(self)

    @property
    def window_samples(self) -> int:
        """Samples per window, at ``sample_rate``."""
        return round(self.window_seconds * self.sample_rate)

    @property
    def hop_samples(self) -> int:
        """Samples from the start of one window to the start of the next, at ``sample_rate``."""
        if self.hop_seconds is None:
            return self.window_samples
        return round(self.hop_seconds * self.sample_rate)

    @property
    def frames(self) -> int:
        """Frames per window: one centred on its first sample, then one every ``hop_length``."""
        return 1 + self.window_samples // self.hop_length

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a window's values: coefficients, frames."""
        return (self.n_mfcc, self.frames)


def _check_choices(settings: RawFormat | MfccSettings) -> None:
    for field, kind in get_type_hints(type(settings)).items():
        if get_origin(kind) is Literal:
            allowed = get_args(kind)
            expected = f"one of {', '.join(allowed)}"
            _require(getattr(settings, field) in allowed, field, expected, settings)


def _require(holds: bool, field: str, expected: str, settings: object) -> None:  # noqa: FBT001
    if not holds:
        found = getattr(settings, field)
        raise BadSettings(f"{field}: expected {expected}, found {found!r}")
