"""The errors between a recording and its MFCC windows.

* AudioError
  * BadSettings (ValueError)            settings that cannot work, before any recording is read
  * MissingDecoder (ImportError)        this machine lacks a library; the recording may be fine
  * RefusedRecording (ValueError)       the recording cannot become features; ``kind`` says why
    * EmptyRecording        empty              no bytes, or a header and no samples
    * NotAudio              not_audio          the first bytes are of no audio format known here
    * UnsupportedCodec      unsupported_codec  audio, but nothing here decodes it (``tag`` in a WAV)
    * BadHeader             bad_header         a known container whose header cannot be followed
    * BadRate               bad_rate           no sampling rate, or one that no recorder has
    * BadChannels           bad_channels       no channels, too many, or the wanted one is missing
    * DamagedRecording      damaged            the decoder failed after the header
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
    """Base of all errors that this package raises on purpose."""


class BadSettings(AudioError, ValueError):
    """Settings that contradict each other or lie outside what the arithmetic supports."""


class MissingDecoder(AudioError, ImportError):
    """A library or one of its formats is missing on this machine; the recording may be fine."""


class RefusedRecording(AudioError, ValueError):
    """The recording cannot become features.

    Args:
        name: The caller's name for the recording; may be empty.
        expected: The property that a usable recording has.
        found: The property that this recording has instead.
    """

    kind: ClassVar[Kind]

    def __init__(self, name: str, *, expected: str, found: str) -> None:
        self.name = name
        self.expected = expected
        self.found = found
        super().__init__(name, expected, found)

    def __str__(self) -> str:
        """Format one line: where, what was expected, what was found."""
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
    """The file has no bytes, or a header without samples."""

    kind = "empty"


class NotAudio(RefusedRecording):
    """The first bytes belong to no audio format known here."""

    kind = "not_audio"


class UnsupportedCodec(RefusedRecording):
    """No decoder here supports the audio; ``tag`` is the WAVE format tag if there is one."""

    kind = "unsupported_codec"

    def __init__(self, name: str, *, expected: str, found: str, tag: int | None = None) -> None:
        super().__init__(name, expected=expected, found=found)
        self.tag = tag


class BadHeader(RefusedRecording):
    """A known container has an invalid header."""

    kind = "bad_header"


class BadRate(RefusedRecording):
    """The sampling rate is zero or outside the range of recorders."""

    kind = "bad_rate"


class BadChannels(RefusedRecording):
    """The recording has no channels, too many channels, or not the wanted channel."""

    kind = "bad_channels"


class DamagedRecording(RefusedRecording):
    """The decoder reported an error after the header had been accepted."""

    kind = "damaged"


class NonFinite(RefusedRecording):
    """NaN or infinite samples: float recordings only."""

    kind = "non_finite"


class OutOfRange(RefusedRecording):
    """Finite samples so far beyond full scale that their power overflows float32."""

    kind = "out_of_range"
