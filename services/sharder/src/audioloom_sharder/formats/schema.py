"""The schema of the records of a run: the feature, and a label or a number to learn."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from audioloom_manifest import ShardFeature
from audioloom_manifest.parquet import feature_bytes
from audioloom_manifest.records.example import Encoding


@dataclass(frozen=True)
class RecordSchema:
    """The fields of every record of a run."""

    feature: ShardFeature
    target: Literal["label", "number"]
    labels: tuple[str, ...] | None
    """The label vocabulary, when the recipe has one."""

    @property
    def has_target(self) -> bool:
        """Whether records have a number to learn."""
        return self.target == "number"

    @property
    def encoding(self) -> Encoding:
        """How the values are stored; Example has no half precision."""
        return "float_list" if self.feature.dtype == "float32" else "bytes_list"

    @cached_property
    def values(self) -> int:
        """Bytes of one window."""
        return feature_bytes(self.feature)
