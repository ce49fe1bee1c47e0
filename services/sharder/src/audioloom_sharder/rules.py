"""The rules of a run: its recipe, and what its inputs and its data decide besides."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from audioloom_manifest.kinds import LabelCopies, ShardFeature, ShardsRecipe
from audioloom_manifest.parquet import feature_bytes
from audioloom_manifest.records.compression import STREAMS
from audioloom_manifest.records.example import NAMES, Stored


@dataclass(frozen=True)
class Rules:
    """The rules for all windows and shards of a run."""

    recipe: ShardsRecipe
    feature: ShardFeature
    sample_rate: int = 0
    """Samples per second of the recordings; 0 where no inputs are read."""
    split_key: Literal["group", "recording"] = "group"
    """What splits are looked up by, where `needs_lookup`."""
    previous_seed: int | None = None
    """The seed of the previous run, where there is one."""
    data_splits: tuple[str, ...] = ()
    """The splits that a pattern or a table names, once that is known."""
    resampling: dict[str, LabelCopies] | None = None
    """How often windows of each label of the training split are taken, once that is decided."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in the order of their numbers."""
        return self.data_splits or tuple(sorted(self.recipe.splits))

    @property
    def ratios(self) -> tuple[Fraction, ...]:
        """The exact ratio of each split: the decimal number, not its binary neighbour."""
        return tuple(Fraction(repr(ratio)) for _, ratio in sorted(self.recipe.splits.items()))

    @property
    def needs_lookup(self) -> bool:
        """True if splits depend on more than the group and the ratios."""
        from_data = not self.recipe.splits  # a pattern or a table names them
        return from_data or self.recipe.stratify or self.previous_seed is not None

    @cached_property
    def copies(self) -> dict[str, tuple[int, int]]:
        """`resampling` as `balance.resampling` computes with it."""
        return {
            label: (one.copies, int(one.one_more_below, 16))
            for label, one in (self.resampling or {}).items()
        }

    @property
    def has_target(self) -> bool:
        """Whether records have a number to learn."""
        return self.recipe.target == "number"

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The labels that records may have; empty if that is any."""
        return frozenset(self.recipe.labels or ())

    @cached_property
    def stored(self) -> Stored:
        """How the values are stored; Example has no half precision."""
        single = self.feature.dtype == "float32"
        return Stored(self.feature.name, "float_list" if single else "bytes_list")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all that a record says, the feature's included, in their order."""
        names = {*NAMES, self.feature.name} - (set() if self.has_target else {"target"})
        return tuple(sorted(names))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of stored values."""
        return np.dtype(self.feature.dtype).newbyteorder("<")

    @cached_property
    def window_bytes(self) -> int:
        """Bytes of the values of one window."""
        return feature_bytes(self.feature)

    @property
    def indexed(self) -> bool:
        """Whether shards have an index of offsets; files of rows need none."""
        return self.recipe.format == "tfrecord"

    @property
    def is_plain(self) -> bool:
        """Whether a shard is the framed records, one after another."""
        return self.indexed and self.recipe.compression == "none"

    @property
    def is_stream(self) -> bool:
        """Whether a shard is compressed as a whole, and becomes another file when unpacked."""
        return self.indexed and self.recipe.compression in STREAMS
