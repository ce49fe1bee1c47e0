"""Facts about a recording: from its header, and after it has been decoded."""

from dataclasses import dataclass
from typing import Literal

Flag = Literal[
    "truncated",
    "header_lies",
    "trailing_bytes",
    "partial_frame",
    "wrong_container",
    "length_unknown",
    "over_full_scale",
    "silent",
    "constant",
]
"""Every oddity of a recording, or of a window, that does not keep it from being used."""


@dataclass(frozen=True)
class Recording:
    """The facts of the header, checked against the size of the file where possible.

    Attributes:
        format: The container by its content: wav, rf64, w64, aiff, au, caf, flac, ogg, mp3, nist.
        codec: libsndfile's name of the coding in lower case: pcm_16, ulaw, vorbis, gsm610 …
        sample_rate: Recorded rate in Hz.
        channels: Number of recorded channels.
        frames: Expected samples per channel; None if they are unknown before decoding.
        flags: ``truncated``, ``header_lies``, ``trailing_bytes``, ``partial_frame`` (bytes at the
            end that are no whole sample of every channel; dropped) and ``wrong_container`` (the
            name ends in another format's extension).
    """

    format: str
    codec: str
    sample_rate: int
    channels: int
    frames: int | None
    flags: tuple[Flag, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Length by ``frames``; None if it is unknown."""
        return None if self.frames is None else self.frames / self.sample_rate


@dataclass(frozen=True)
class Summary:
    """Facts about an extraction.

    Attributes:
        recording: The facts of the header.
        frames_read: Decoded samples per channel, at the recording's own rate.
        windows: Number of windows over all channels.
        complete: Whether the recording was decoded to its end; False before the last window and
            after ``windows="first"`` has stopped early.
        peak: Largest magnitude of the samples; full scale is 1.
        flags: The recording's flags, and ``truncated`` if decoding ended before ``frames``,
            ``over_full_scale`` (float samples beyond +-1, used unchanged), ``silent`` (all windows
            are silent), ``length_unknown`` (neither header nor decoding gave the length).
    """

    recording: Recording
    frames_read: int
    windows: int
    complete: bool
    peak: float
    flags: tuple[Flag, ...]

    @property
    def seconds_read(self) -> float:
        """Length of the decoded samples."""
        return self.frames_read / self.recording.sample_rate
