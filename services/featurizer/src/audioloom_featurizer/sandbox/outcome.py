"""Why a recording is refused, and which recordings of a unit have already killed a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from audioloom_featurizer.sandbox.heartbeat import Stage

if TYPE_CHECKING:  # a supervisor needs neither NumPy nor a decoder
    from audioloom_audio import Kind

Cause = Literal[
    "missing",
    "no_permission",
    "not_a_file",
    "unsafe_path",
    "bad_name",
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
    """Why a recording is refused: the ledger's words.

    Attributes:
        kind: the class.
        stage: how far the recording had come.
        offset: to which byte of the file; None before the first read.
        message: what was expected and what was found.
        retryable: whether a later run, or other limits, may succeed.
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
        suspect: a recording at which one worker died. It is tried first, alone: memory that an
            earlier recording corrupted may have been the reason.
    """

    blamed: Mapping[int, Refusal] = field(default_factory=dict)
    suspect: int | None = None
