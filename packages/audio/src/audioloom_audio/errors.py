"""What can go wrong between a recording and its MFCC windows.

* AudioError
  * BadSettings (ValueError)            settings that cannot work, before any recording is read
  * MissingDecoder (ImportError)        this machine lacks a library; the recording may be fine
  * RefusedRecording (ValueError)       the recording cannot become features; ``kind`` says why
    * EmptyRecording        empty              no bytes, or a header and no samples
    * NotAudio              not_audio          the first bytes are of no audio format known here
    * UnsupportedCodec      unsupported_codec  audio, but nothing here decodes it (``tag`` in a WAV)
    * BadHeader             bad_header         a known container whose header cannot be followed
    * BadRate               bad_rate           no sampling rate, or one that no recorder has
    * BadChannels           bad_channels       no channels, too many, or not the one asked for
    * DamagedRecording      damaged            the decoder gave up in the middle
    * NonFinite             non_finite         NaN or infinite samples
    * OutOfRange            out_of_range       finite samples whose power overflows float32

``kind`` is stable: ledgers and dashboards may count by it. An error of the storage under the
recording (connection lost, permission denied) passes through unchanged, because a retry may help.
"""

from typing import ClassVar, Literal

Kind = Literal[
    "empty",
    "not_audio",
    "unsupported_codec",
    "bad_header",
    "bad_rate",
    "bad_channels",
    "damaged",
    "non_finite",
    "out_of_range",
]
"""Every class of refusal."""


class AudioError(Exception):
    """Base of everything this package raises on purpose."""


class BadSettings(AudioError, ValueError):
    """Settings that contradict each other or lie outside what the arithmetic supports."""


class MissingDecoder(AudioError, ImportError):
    """A library or one of its formats is missing on this machine; the recording may be fine."""


class RefusedRecording(AudioError, ValueError):
    """The recording cannot become features.

    Args:
        name: What the caller calls the recording; may be empty.
        expected: What a usable recording has at this point.
        found: What this one has instead.
    """

    kind: ClassVar[Kind]

    def __init__(self, name: str, *, expected: str, found: str) -> None:
        self.name = name
        self.expected = expected
        self.found = found
        super().__init__(name, expected, found)

    def __str__(self) -> str:
        """One line: where, what was expected, what was found."""
        return f"{self.name or 'recording'}: expected {self.expected}, found {self.found}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments would be lost on the way from a worker process to the driver.
        return (_rebuild, (type(self), self.name, self.expected, self.found, self.__dict__))


def _rebuild(
    cls: type[RefusedRecording], name: str, expected: str, found: str, state: dict[str, object]
) -> RefusedRecording:
    error = cls(name, expected=expected, found=found)
    error.__dict__.update(state)
    return error


class EmptyRecording(RefusedRecording):
    """No bytes at all, or a header that is followed by no samples."""

    kind = "empty"


class NotAudio(RefusedRecording):
    """The first bytes belong to no audio format known here."""

    kind = "not_audio"


class UnsupportedCodec(RefusedRecording):
    """Audio that nothing here decodes; ``tag`` is the WAVE format tag where there is one."""

    kind = "unsupported_codec"

    def __init__(self, name: str, *, expected: str, found: str, tag: int | None = None) -> None:
        super().__init__(name, expected=expected, found=found)
        self.tag = tag


class BadHeader(RefusedRecording):
    """A known container, but its header leads nowhere."""

    kind = "bad_header"


class BadRate(RefusedRecording):
    """A sampling rate of zero, or one outside what any recorder writes."""

    kind = "bad_rate"


class BadChannels(RefusedRecording):
    """No channels, more than are supported, or not the one that was asked for."""

    kind = "bad_channels"


class DamagedRecording(RefusedRecording):
    """The decoder reported an error after the header had been accepted."""

    kind = "damaged"


class NonFinite(RefusedRecording):
    """NaN or infinite samples: float recordings only."""

    kind = "non_finite"


class OutOfRange(RefusedRecording):
    """Finite samples so far beyond full scale that their power is not a float32."""

    kind = "out_of_range"
