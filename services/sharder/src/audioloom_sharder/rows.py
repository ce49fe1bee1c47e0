"""What a row of the features becomes: its group, its split, its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Literal, NamedTuple, TypeGuard

import pyarrow as pa
from audioloom_manifest import Feature, LabelCopies
from audioloom_manifest.parquet import feature_bytes

from audioloom_sharder.example import Encoding, Record
from audioloom_sharder.filters import EVERYTHING, Filters
from audioloom_sharder.resampling import Copies, Way
from audioloom_sharder.targets import MOST_TARGET
from audioloom_sharder.weights import Wish
from audioloom_sharder.wishes import Share

__all__ = [
    "Row",
    "Rules",
    "fault_of",
    "from_manifest",
    "group_of",
    "is_target",
    "record_of",
    "recording_name",
    "rows_of",
    "to_manifest",
]

LONGEST_LABEL = 1000

Fault = Literal["ungrouped", "no split", "unlabelled", "unknown label", "long label", "untargeted"]


class Row(NamedTuple):
    """The identity columns of one window."""

    path: str
    member: str | None
    channel: int
    window: int
    label: str | None
    target: float | None
    group: str | None
    valid_frames: int
    recording_sha256: str


@dataclass(frozen=True)
class Rules:
    """What decides where a row goes and what its record says."""

    feature: Feature
    seed: int
    shares: tuple[Share, ...]
    ungrouped: Literal["refuse", "by-recording"]
    target: Literal["label", "number"]
    labels: tuple[str, ...] | None
    """The vocabulary when it was given."""
    filters: Filters = EVERYTHING
    weights: Wish = None
    """The class weights that were asked for."""
    resample: Way = "none"
    resampling: Mapping[str, Copies] | None = None
    """How often windows of each label of the training split are taken, once that is known."""
    stratify: bool = False
    split_pattern: str | None = None
    """What says the split of a path, in place of the shares."""
    split_table: str | None = None
    """The SHA-256 of the table that says it."""
    split_key: Literal["group", "recording"] = "group"
    """What splits are looked up by, where the hash alone does not say them."""
    unassigned: Literal["refuse", "drop"] = "refuse"
    kept_seed: int | None = None
    """The seed of the run whose splits are kept."""
    named: tuple[str, ...] = ()
    """The splits that a pattern or a table names, once that is known."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits; a split's number is its place here."""
        return self.named or tuple(share.split for share in self.shares)

    @property
    def said(self) -> bool:
        """Whether a pattern or a table says the splits."""
        return self.split_pattern is not None or self.split_table is not None

    @property
    def looked_up(self) -> bool:
        """Whether splits are more than a function of the group and the shares."""
        return self.said or self.stratify or self.kept_seed is not None

    @property
    def encoding(self) -> Encoding:
        """How the values are stored; Example has no half precision."""
        return "float_list" if self.feature.dtype == "float32" else "bytes_list"

    @cached_property
    def values(self) -> int:
        """Bytes of one window."""
        return feature_bytes(self.feature)


def to_manifest(resampling: Mapping[str, Copies] | None) -> dict[str, LabelCopies] | None:
    """The rule as the stats of a manifest hold it."""
    if resampling is None:
        return None
    return {
        label: LabelCopies(copies=one.whole, one_more_below=f"{one.one_more_below:032x}")
        for label, one in resampling.items()
    }


def from_manifest(stats: Mapping[str, LabelCopies] | None) -> dict[str, Copies] | None:
    """The reverse of `to_manifest`."""
    if stats is None:
        return None
    return {label: Copies(one.copies, int(one.one_more_below, 16)) for label, one in stats.items()}


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    """The rows of a table that has the identity columns."""
    return starmap(Row, zip(*(table.column(name).to_pylist() for name in Row._fields), strict=True))


def recording_name(row: Row) -> str:
    """How the record names its recording: the path, and the member of a container file."""
    return row.path if row.member is None else f"{row.path}!{row.member}"


def group_of(row: Row, rules: Rules) -> str:
    """The group that decides the row's split; "" where it has none and none is made up."""
    if row.group:
        return row.group
    return recording_name(row) if rules.ungrouped == "by-recording" else ""


def is_target(number: float | None) -> TypeGuard[float]:
    """Whether a record can hold it: finite, also as float32."""
    return number is not None and abs(number) <= MOST_TARGET


def fault_of(row: Row, group: str, rules: Rules, known: frozenset[str]) -> Fault | None:
    """Why no record can be made of the row, or None.

    Args:
        row: the row.
        group: from `group_of`.
        rules: the run's.
        known: the labels of a given vocabulary.
    """
    if not group and len(rules.splits) > 1:
        return "ungrouped"
    if row.label and rules.labels is not None and row.label not in known:
        return "unknown label"
    if row.label and len(row.label) > LONGEST_LABEL:
        return "long label"
    if rules.target == "label" and not row.label:
        return "unlabelled"
    if rules.target == "number" and not is_target(row.target):
        return "untargeted"
    return None


def record_of(
    row: Row, group: str, label_id: int, values: bytes | memoryview, rules: Rules
) -> Record:
    """The record of a row without fault."""
    return Record(
        channel=row.channel,
        group=group,
        label=row.label or "",
        label_id=label_id,
        mfcc=values,
        path=recording_name(row),
        target=row.target if rules.target == "number" and is_target(row.target) else None,
        valid_frames=row.valid_frames,
        window=row.window,
    )
