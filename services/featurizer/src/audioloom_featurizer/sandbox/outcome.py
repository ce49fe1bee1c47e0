"""The refusal of a recording, and the recordings of a unit at which a worker died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from audioloom_featurizer.sandbox.heartbeat import Stage

if TYPE_CHECKING:  # the supervisor must not import NumPy or a decoder
    from audioloom_audio import Kind

Cause = Literal[
    "missing",
    "no_permission",
    "not_a_file",
    "unsafe_path",
    "bad_name",
    "damaged_container",
    "unavailable",
    "storage",
    "changed",
    "decoder_died",
    "decoder_stalled",
    "decoder_memory",
    "unexpected",
]
"""Every class of refusal beside those of the recording itself."""


@dataclass(frozen=True)
class Refusal:
    """The reason why a recording is refused, as the ledger stores it.

    Attributes:
        kind: the class.
        stage: the stage that the recording had reached.
        offset: bytes read from the start of the file; None before the first read.
        message: what was expected and what was found.
        retryable: whether a later run or other limits may succeed.
    """

    kind: Kind | Cause
    stage: Stage
    offset: int | None
    message: str
    retryable: bool


@dataclass(frozen=True)
class CrashHistory:
    """Recordings of a unit at which a worker died, by their numbers in the unit.

    Attributes:
        blamed: recordings that are refused unread.
        suspect: a recording at which one worker died. It is tried first and alone, because an
            earlier recording may have corrupted the memory.
    """

    blamed: Mapping[int, Refusal] = field(default_factory=dict)
    suspect: int | None = None
