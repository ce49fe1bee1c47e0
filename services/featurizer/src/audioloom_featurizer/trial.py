"""What became of recordings that a decoder ended badly on: found guilty, or under suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from audioloom_featurizer.pulse import Stage


@dataclass(frozen=True)
class Verdict:
    """Why a recording is refused that nothing more can be asked about: for the ledger.

    Attributes:
        kind: `decoder_died`, `decoder_stalled`, `decoder_memory`, or `unavailable`.
        stage: how far the recording had come.
        offset: to which byte of it.
        message: what was expected and what was found.
        retryable: other limits, or another day, may help.
    """

    kind: str
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
