"""The errors between a recording and its windows of features.

An error of the storage under the recording (connection lost, permission denied) passes through
unchanged, because a retry may help.
"""

from typing import Literal

Kind = Literal[
    "empty",  # no bytes, or a header and no samples
    "not_audio",  # the first bytes are of no audio format known here
    "unsupported_codec",  # audio, but nothing here decodes it
    "bad_header",  # a known container whose header cannot be followed
    "bad_rate",  # no sampling rate, or one that no recorder has
    "bad_channels",  # no channels, too many, or the wanted one is missing
    "damaged",  # the decoder failed after the header
    "non_finite",  # NaN or infinite samples: float recordings only
    "out_of_range",  # finite samples whose power overflows float32, or values that overflow float16
    "function_failed",  # the user's function raised an error, or returned no feature
]
"""Why a recording is refused. The kinds are stable: ledgers and dashboards may count by them."""


class AudioError(Exception):
    """Base of all errors that this package raises on purpose."""


class BadSettings(AudioError, ValueError):
    """Settings that contradict each other or lie outside what the arithmetic supports."""


class MissingDecoder(AudioError, ImportError):
    """A library or one of its formats is missing on this machine; the recording may be fine."""


class RefusedRecording(AudioError, ValueError):
    """The recording cannot become features.

    Args:
        kind: The class of the refusal.
        name: The caller's name for the recording; may be empty.
        expected: The property that a usable recording has.
        found: The property that this recording has instead.
    """

    def __init__(self, kind: Kind, name: str, expected: str, found: str) -> None:
        super().__init__(kind, name, expected, found)
        self.kind = kind
        self.name = name
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Format one line: where, what was expected, what was found."""
        return f"{self.name or 'recording'}: expected {self.expected}, found {self.found}"


def require(holds: bool, field: str, expected: str, found: object) -> None:  # noqa: FBT001
    """Raise `BadSettings` by the name of a setting, unless the condition *holds*."""
    if not holds:
        raise BadSettings(f"{field}: expected {expected}, found {found!r}")
