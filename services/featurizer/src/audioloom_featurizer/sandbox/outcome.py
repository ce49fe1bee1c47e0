"""Why a recording is refused, and what is known of those that a decoder ended badly on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from audioloom_featurizer.sandbox.heartbeat import Stage

if TYPE_CHECKING:  # a supervisor needs neither NumPy nor what it decodes with
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
class Verdict:
    """Why a recording is refused: for the ledger.

    Attributes:
        kind: the class.
        stage: how far the recording had come.
        offset: to which byte of it.
        message: what was expected and what was found.
        retryable: another day, or other limits, may help.
    """

    kind: Kind | Cause
    stage: Stage
    offset: int | None
    message: str
    retryable: bool


@dataclass(frozen=True)
class Trial:
    """What is known of a unit's recordings before it is done, by their numbers in it.

    Attributes:
        guilty: they are refused unread.
        suspect: a process died at it, once. It is tried first, alone: memory that an earlier
            recording spoiled may have been the reason.
    """

    guilty: Mapping[int, Verdict] = field(default_factory=dict)
    suspect: int | None = None
