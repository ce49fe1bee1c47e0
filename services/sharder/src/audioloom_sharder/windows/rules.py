"""The rules of a run for windows: their selection, splits and records."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from audioloom_sharder.balance.class_weights import ClassWeights
from audioloom_sharder.balance.resampling import Copies, ResampleMode
from audioloom_sharder.formats.schema import RecordSchema
from audioloom_sharder.inputs.filters import EVERYTHING, Filters
from audioloom_sharder.splits.policy import SplitPolicy


@dataclass(frozen=True)
class Rules:
    """The rules for all windows of a run."""

    policy: SplitPolicy
    schema: RecordSchema
    filters: Filters = EVERYTHING
    class_weights: ClassWeights = None
    resample: ResampleMode = "none"
    resampling: Mapping[str, Copies] | None = None
    """How often windows of each label of the training split are taken, once that is decided."""

    def with_splits(self, names: tuple[str, ...]) -> "Rules":
        """Return the rules with the names of splits that the data decide."""
        return replace(self, policy=replace(self.policy, data_splits=names))
