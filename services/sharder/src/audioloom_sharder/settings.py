"""The settings of every command: each field is a flag, a variable and a key of the TOML file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from audioloom_manifest import SHARD_COMPRESSIONS
from audioloom_spark.settings import SparkSettings
from audioloom_stage import Positional, Settings
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from audioloom_sharder.balance.class_weights import Wish, parse_weights
from audioloom_sharder.splits.ratios import DEFAULT_WISH, compile_pattern

DEFAULT_SHARD_BYTES = "128MiB"
LARGEST_SEED = 2**63 - 1

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"([0-9]{1,15})\s*([A-Za-z]{0,3})")

_MASTER = r"^(inline|yarn|local(\[([1-9][0-9]{0,3}|\*)\])?)$"
_NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"


def parse_bytes(text: str) -> int:
    """Bytes in ``128MiB``, ``1GB`` or ``65536``.

    Raises:
        ValueError: it says no positive size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].upper() not in _UNITS or not int(match[1]):
        raise ValueError(f"expected a size like 128MiB, 1GB or 65536, found {text!r}")
    return int(match[1]) * _UNITS[match[2].upper()]


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Assignment(Settings):
    """What decides where every window goes."""

    features: Annotated[tuple[str, ...], Positional("FEATURES")] = Field(
        min_length=1, description="Features runs: their folders or manifests."
    )
    root: str | None = Field(
        None, description="Root to write under. Default: the root of the first input."
    )
    name: str | None = Field(
        None, pattern=_NAME, description="Name of the run. Default: a digest of recipe and inputs."
    )
    split: str | None = Field(
        None,
        description="Splits and their parts. Groups go whole, by a stable hash. Default:"
        f" {DEFAULT_WISH}.",
    )
    stratify: bool = Field(
        default=False,
        description="Share every label out as --split says, as far as whole groups allow. Groups"
        " may move when data are added: see --keep-splits.",
    )
    keep_splits: str | None = Field(
        None,
        description="An earlier shards run, its folder or manifest: the groups it has stay in"
        " their splits.",
    )
    split_pattern: str | None = Field(
        None,
        description="The path says the split: a regular expression for the whole of it, with the"
        " named group split: '(?P<split>[^/]+)/.*'. In place of --split.",
    )
    split_table: str | None = Field(
        None,
        description="A table says the splits: CSV or Parquet with the column split, and path or"
        " group. In place of --split.",
    )
    unassigned: Literal["refuse", "drop"] = Field(
        "refuse",
        description="Windows that pattern or table say no split of: refuse them, or leave them"
        " out.",
    )
    lanes: int = Field(
        24,
        ge=1,
        le=5040,
        description="Shards of a split are a multiple of it; any divisor of it can be the number of"
        " replicas.",
    )
    shards: int | None = Field(
        None, ge=1, le=1_000_000, description="Shards of the largest split, a multiple of --lanes."
    )
    shard_bytes: Annotated[str | None, BeforeValidator(_as_text)] = Field(
        None, description=f"Aim for shards of about this size. Default: {DEFAULT_SHARD_BYTES}."
    )
    seed: int = Field(
        0, ge=0, le=LARGEST_SEED, description="Another seed, another order and other splits."
    )
    labels: str | None = Field(
        None,
        description="The label vocabulary, separated by commas; numbers count from 0 in this order."
        " Default: all labels, sorted.",
    )
    target: Literal["label", "number"] = Field(
        "label", description="Learn the label (a class) or the target (a number)."
    )
    only_labels: str | None = Field(
        None, description="Take the windows with these labels alone, separated by commas."
    )
    without_flags: str | None = Field(
        None,
        description="Leave out the windows with one of these flags, such as silent,truncated.",
    )
    min_seconds: float = Field(
        0.0, ge=0, le=86400, description="Leave out the windows with less recording than this."
    )
    class_weights: str = Field(
        "none",
        description="What a record counts in the trainer's loss, by its label: none; balanced, so"
        " that every label of train weighs the same; or by hand, as a=1,b=2.5.",
    )
    format: Literal["tfrecord", "parquet", "avro", "orc"] = Field(
        "tfrecord",
        description="Of the shards. The trainer reads TFRecord; the others are for training"
        " elsewhere.",
    )
    compression: Literal["none", "gzip", "zlib", "deflate", "zstd"] = Field(
        "none",
        description="Of the shards: none, gzip or zlib with tfrecord; none, gzip or zstd with"
        " parquet; none or deflate with avro; none, zlib or zstd with orc.",
    )
    resample: Literal["none", "under", "over"] = Field(
        "none",
        description="Make every label of train equally frequent: under leaves windows of the"
        " commoner labels out, over repeats those of the rarer.",
    )
    ungrouped: Literal["refuse", "by-recording"] = Field(
        "refuse",
        description="Windows without a group: refuse them, or take each recording for one.",
    )

    @field_validator("shard_bytes")
    @classmethod
    def _is_size(cls, value: str | None) -> str | None:
        if value is not None:
            parse_bytes(value)
        return value

    @field_validator("labels", "only_labels", "without_flags")
    @classmethod
    def _are_words(cls, value: str | None, field: ValidationInfo) -> str | None:
        if value is not None:
            what = "flag" if field.field_name == "without_flags" else "label"
            words = split_words(value)
            if not all(words):
                raise ValueError(f"an empty {what} in {value!r}")
            if len(set(words)) < len(words):
                twice = next(word for word in words if words.count(word) > 1)
                raise ValueError(f"the {what} {twice!r} twice")
        return value

    @field_validator("class_weights")
    @classmethod
    def _are_weights(cls, value: str) -> str:
        parse_weights(value)
        return value

    @model_validator(mode="after")
    def _labels_are_learned(self) -> Assignment:
        if self.target == "number" and self.weights is not None:
            raise ValueError("--class-weights are for labels, and --target number learns none")
        if self.target == "number" and self.resample != "none":
            raise ValueError("--resample goes by labels, and --target number learns none")
        return self

    @field_validator("split_pattern")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        if value is not None:
            compile_pattern(value)
        return value

    @model_validator(mode="after")
    def _one_way_of_splitting(self) -> Assignment:
        said = [
            flag
            for flag, value in (
                ("--split-pattern", self.split_pattern),
                ("--split-table", self.split_table),
            )
            if value is not None
        ]
        if not said and self.unassigned == "drop":
            raise ValueError("--unassigned is for --split-pattern and --split-table: give one")
        wished = {
            "--split": self.split is not None,
            "--stratify": self.stratify,
            "--keep-splits": self.keep_splits is not None,
        }
        others = said[1:] + [flag for flag, given in wished.items() if given]
        if said and others:
            raise ValueError(
                f"{said[0]} and {others[0]} exclude each other: the splits are read from the data,"
                " or shared out as wished"
            )
        return self

    @model_validator(mode="after")
    def _one_size(self) -> Assignment:
        if self.shards is not None and self.shard_bytes is not None:
            raise ValueError("--shards and --shard-bytes exclude each other: give one")
        if self.shards is not None and self.shards % self.lanes:
            below = self.shards // self.lanes * self.lanes
            near = f"{below} or {below + self.lanes}" if below else str(self.lanes)
            raise ValueError(
                f"--shards {self.shards} is not a multiple of --lanes {self.lanes}: try {near}"
            )
        return self

    @model_validator(mode="after")
    def _known_compression(self) -> Assignment:
        if self.compression not in (known := SHARD_COMPRESSIONS[self.format]):
            raise ValueError(
                f"--format {self.format} has no --compression {self.compression}: try"
                f" {', '.join(known[:-1])} or {known[-1]}"
            )
        return self

    @property
    def wish(self) -> str | None:
        """Splits and their parts; None when the data say the splits."""
        if self.split_pattern is not None or self.split_table is not None:
            return None
        return DEFAULT_WISH if self.split is None else self.split

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """The labels that were given."""
        return None if self.labels is None else split_words(self.labels)

    @property
    def taken_labels(self) -> tuple[str, ...] | None:
        """The labels that windows are taken with; the order says nothing."""
        return None if self.only_labels is None else tuple(sorted(split_words(self.only_labels)))

    @property
    def weights(self) -> Wish:
        """The class weights that were asked for."""
        return parse_weights(self.class_weights)

    @property
    def refused_flags(self) -> tuple[str, ...]:
        """The flags that windows are left out for; the order says nothing."""
        return tuple(sorted(split_words(self.without_flags))) if self.without_flags else ()


def split_words(text: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(word.strip() for word in text.split(","))


class RunSettings(SparkSettings, Assignment):
    """`run`: write the shards."""

    master: str = Field(
        "local[*]",
        pattern=_MASTER,
        description="Spark master: local[N], local[*], yarn; or inline, this process alone.",
    )


class PlanSettings(SparkSettings, Assignment):
    """`plan`: show what run would write."""

    replicas: str = Field("1,2,3,4", description="Numbers of replicas to show, with commas.")
    batch_size: int = Field(
        64, ge=1, description="Records of a global batch, over all replicas together."
    )
    master: str = Field(
        "inline",
        pattern=_MASTER,
        description="Where the columns are read: inline is this process; or a Spark master.",
    )

    @field_validator("replicas")
    @classmethod
    def _are_numbers(cls, value: str) -> str:
        for word in value.split(","):
            if not (word.strip().isascii() and word.strip().isdigit() and int(word)):
                raise ValueError(f"expected numbers like 1,2,4, found {value!r}")
        return value

    @property
    def replica_counts(self) -> tuple[int, ...]:
        """The numbers of replicas, ascending."""
        return tuple(sorted({int(word) for word in self.replicas.split(",")}))


class _OfOneRun(Settings):
    run: Annotated[str, Positional("SHARDS")] = Field(
        description="A shards run: its folder or manifest."
    )


class VerifySettings(SparkSettings, _OfOneRun):
    """`verify`: read everything again."""

    split_table: str | None = Field(
        None,
        description="Where the table that said the splits lies now. Default: where run read it.",
    )
    inputs: bool = Field(
        default=True,
        description="Read the features too, and find every window of them exactly once.",
    )
    master: str = Field(
        "inline",
        pattern=_MASTER,
        description="Where files are read: inline is this process; or a Spark master.",
    )


class InspectSettings(_OfOneRun):
    """`inspect`: what a run holds."""

    records: int = Field(
        0, ge=0, le=1000, description="Show this many records of each split, decoded."
    )


class _OfARoot(Settings):
    root: Annotated[str, Positional("ROOT")] = Field(
        description="Folder that holds recordings/, features/, shards/ and runs/."
    )


class ListSettings(_OfARoot):
    """`list`: the runs under a root."""


class GcSettings(_OfARoot):
    """`gc`: what nothing names."""

    delete: bool = Field(default=False, description="Remove what is found.")
    dry_run: bool = Field(
        default=False, description="Only show what is found, as without --delete."
    )
    older_than_hours: float = Field(
        24.0,
        ge=0,
        le=1e6,
        description="Leave alone what changed later: a run may be writing it.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> GcSettings:
        if self.delete and self.dry_run:
            raise ValueError("--delete and --dry-run exclude each other: give one")
        return self
