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
        sample_rate: Hz, as recorded.
        channels: As recorded.
        frames: Samples a channel that decoding should give; None if only decoding can tell.
        frames_declared: Samples a channel by the header; None if the header has no length.
        flags: ``truncated``, ``header_lies``, ``trailing_bytes``, ``partial_frame`` (bytes at the
            end that make no whole sample of every channel; dropped) and ``wrong_container`` (the
            name ends in another format's extension).
    """

    format: str
    codec: str
    sample_rate: int
    channels: int
    frames: int | None
    frames_declared: int | None
    flags: tuple[Flag, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Length, by ``frames``."""
        return None if self.frames is None else self.frames / self.sample_rate


@dataclass(frozen=True)
class Summary:
    """Facts about an extraction.

    Attributes:
        recording: The facts of the header.
        frames_read: Samples a channel decoded, at the recording's own rate.
        windows: Windows handed out, over all channels.
        complete: The recording was decoded to its end; False while windows are still to come and
            after ``windows="first"`` has stopped early.
        peak: Largest magnitude of the samples; full scale is 1.
        flags: The recording's, with ``truncated`` added where decoding ended before ``frames``,
            ``over_full_scale`` (float samples beyond +-1: used as they are), ``silent`` (every
            window was) and ``length_unknown`` (the header does not say, and not all was read).
    """

    recording: Recording
    frames_read: int
    windows: int
    complete: bool
    peak: float
    flags: tuple[Flag, ...]

    @property
    def seconds_read(self) -> float:
        """Length of what was decoded."""
        return self.frames_read / self.recording.sample_rate
