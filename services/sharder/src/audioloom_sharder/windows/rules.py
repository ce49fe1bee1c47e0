"""All that decides what becomes of a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_sharder.balance.class_weights import Wish
from audioloom_sharder.balance.resampling import Copies, Way
from audioloom_sharder.formats.schema import RecordSchema
from audioloom_sharder.inputs.filters import EVERYTHING, Filters
from audioloom_sharder.splits.policy import SplitPolicy


@dataclass(frozen=True)
class Rules:
    """Which windows a run takes, where they go, and what their records hold."""

    policy: SplitPolicy
    schema: RecordSchema
    filters: Filters = EVERYTHING
    weights: Wish = None
    """The class weights that were asked for."""
    resample: Way = "none"
    resampling: Mapping[str, Copies] | None = None
    """How often windows of each label of the training split are taken, once that is known."""
