"""The settings of every command: each field is a flag, a variable and a key of the TOML file."""

from typing import Annotated, ClassVar, Literal

from audioloom_runs.settings import CheckSettings, GcSettings, ListSettings, RunName
from audioloom_spark.settings import SparkSettings
from audioloom_stage.settings import Positional, Settings
from audioloom_stage.units import Size
from pydantic import Field, ValidationInfo, field_validator, model_validator

from audioloom_sharder.balance.class_weights import parse_weights
from audioloom_sharder.splits.ratios import DEFAULT_RATIOS, compile_pattern

__all__ = ["GcSettings", "ListSettings"]  # those of other modules

DEFAULT_SHARD_BYTES = Size(128 << 20)
LANES = (960, 120, 24)
"""The numbers of lanes to choose from by default; each divides those before it."""
LARGEST_SEED = 2**63 - 1


class Assignment(Settings):
    """The options that decide where every window goes."""

    groups: ClassVar = {
        "Splits": (
            "split stratify keep_splits split_pattern split_table unassigned ungrouped seed"
        ),
        "Selection": "target labels only_labels without_flags min_seconds",
        "Balance": "class_weights resample",
        "Shards": "lanes shards shard_bytes format compression",
    }

    features: Annotated[tuple[str, ...], Positional("FEATURES")] = Field(
        min_length=1, description="Features runs: their folders or manifests."
    )
    root: str | None = Field(
        None, description="Root folder to write under. Default: that of the first input."
    )
    name: RunName | None = Field(
        None, description="Name of the run. Default: a digest of recipe and inputs."
    )
    split: str | None = Field(
        None, description=f"Splits and their ratios. Default: {DEFAULT_RATIOS}."
    )
    stratify: bool = Field(
        default=False, description="Give every label the ratios of --split, as groups allow."
    )
    keep_splits: str | None = Field(
        None, description="Earlier shards run whose groups keep their splits."
    )
    split_pattern: str | None = Field(
        None, description="Regular expression for paths, with the group split."
    )
    split_table: str | None = Field(
        None, description="CSV or Parquet table with split, and path or group."
    )
    unassigned: Literal["refuse", "drop"] = Field(
        "refuse", description="What to do with windows without a split in pattern or table."
    )
    ungrouped: Literal["refuse", "by-recording"] = Field(
        "refuse", description="Refuse windows without a group, or group them by recording."
    )
    seed: int = Field(0, ge=0, le=LARGEST_SEED, description="Seed of the splits and of the order.")
    target: Literal["label", "number"] = Field(
        "label", description="Learn the label (a class) or the target (a number)."
    )
    labels: str | None = Field(
        None, description="Vocabulary in order, separated by commas. Default: all labels, sorted."
    )
    only_labels: str | None = Field(
        None, description="Keep windows with these labels only, separated by commas."
    )
    without_flags: str | None = Field(
        None, description="Drop windows with any of these flags, such as silent,truncated."
    )
    min_seconds: float = Field(
        0.0, ge=0, le=86400, description="Drop windows with less audio than this, in seconds."
    )
    class_weights: str = Field(
        "none", description="Weights of labels in the loss: none, balanced or a=1,b=2.5."
    )
    resample: Literal["none", "under", "over"] = Field(
        "none", description="Balance train: drop common labels or repeat rare ones."
    )
    lanes: int | None = Field(
        None, ge=1, le=5040, description="Lanes of a split; replicas divide it. Default: by size."
    )
    shards: int | None = Field(
        None, ge=1, le=1_000_000, description="Shards of the largest split, a multiple of --lanes."
    )
    shard_bytes: Size | None = Field(
        None, gt=0, description=f"Target size of a shard. Default: {DEFAULT_SHARD_BYTES.text}."
    )
    format: Literal["tfrecord", "parquet", "avro", "orc"] = Field(
        "tfrecord", description="File format of the shards; the trainer reads tfrecord."
    )
    compression: Literal["none", "gzip", "zlib", "deflate", "zstd"] = Field(
        "none", description="Compression of the shards; each format has its own."
    )

    @field_validator("labels", "only_labels", "without_flags")
    @classmethod
    def _are_words(cls, value: str | None, field: ValidationInfo) -> str | None:
        if value is not None:
            what = "flag" if field.field_name == "without_flags" else "label"
            words = split_words(value) or ()
            if not all(words):
                raise ValueError(f"an empty {what} in {value!r}")
            if len(set(words)) < len(words):
                twice = next(word for word in words if words.count(word) > 1)
                raise ValueError(f"the {what} {twice!r} twice")
        return value

    @field_validator("class_weights", "split_pattern")
    @classmethod
    def _can_be_read(cls, value: str | None, field: ValidationInfo) -> str | None:
        if value is not None:
            read = parse_weights if field.field_name == "class_weights" else compile_pattern
            read(value)
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> "Assignment":
        if self.target == "number" and parse_weights(self.class_weights) is not None:
            raise ValueError("--class-weights are for labels, and --target number learns none")
        if self.target == "number" and self.resample != "none":
            raise ValueError("--resample goes by labels, and --target number learns none")
        if self.ratios is not None and self.unassigned == "drop":
            raise ValueError("--unassigned is for --split-pattern and --split-table: give one")
        ways = ("split_pattern", "split_table", "split", "stratify", "keep_splits")
        used = [
            f"--{way.replace('_', '-')}" for way in ways if getattr(self, way) not in (None, False)
        ]
        if self.ratios is None and len(used) > 1:
            raise ValueError(
                f"{used[0]} and {used[1]} exclude each other: the splits are read from the data,"
                " or divided by ratios"
            )
        if self.shards is not None and self.shard_bytes is not None:
            raise ValueError("--shards and --shard-bytes exclude each other: give one")
        lanes = self.lanes or min(LANES)
        if self.shards is not None and self.shards % lanes:
            below = self.shards // lanes * lanes
            near = f"{below} or {below + lanes}" if below else str(lanes)
            raise ValueError(
                f"--shards {self.shards} is not a multiple of --lanes {lanes}: try {near}"
            )
        from audioloom_manifest.kinds import SHARD_COMPRESSIONS  # noqa: PLC0415 - not for --help

        if self.compression not in (known := SHARD_COMPRESSIONS[self.format]):
            raise ValueError(
                f"--format {self.format} has no --compression {self.compression}: try"
                f" {', '.join(known[:-1])} or {known[-1]}"
            )
        return self

    @property
    def ratios(self) -> str | None:
        """Splits and their ratios; None where a pattern or a table names the splits."""
        if self.split_pattern is not None or self.split_table is not None:
            return None
        return DEFAULT_RATIOS if self.split is None else self.split


def split_words(text: str | None) -> tuple[str, ...] | None:
    """Words between commas."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


class _SparkOrInline(SparkSettings):
    masters: ClassVar[str] = f"inline|{SparkSettings.masters}"

    master: str = Field(
        "local[*]", description="Spark master: local[N], local[*], yarn; or inline: this process."
    )


class _Read(_SparkOrInline):
    master: str = Field("inline", description="Spark master that reads, or inline: this process.")


class RunSettings(Assignment, _SparkOrInline):
    """`run`: write the shards."""


class PlanSettings(Assignment, _Read):
    """`plan`: show what run would write."""

    groups: ClassVar = {"Training": "replicas batch_size", "Capacity": "capacity"}

    capacity: bool = Field(
        default=False, description="Show what the run takes, from counts alone, with verdicts."
    )
    replicas: str = Field("1,2,3,4", description="Numbers of replicas, separated by commas.")
    batch_size: int = Field(64, ge=1, description="Records of a global batch, over all replicas.")

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
        description="Shards run: its folder or manifest."
    )


class VerifySettings(_OfOneRun, _Read):
    """`verify`: read everything again."""

    split_table: str | None = Field(
        None, description="New place of the table that held the splits."
    )
    inputs: bool = Field(
        default=True, description="Read the features too: find each window exactly once."
    )


class InspectSettings(_OfOneRun):
    """`inspect`: what a run holds."""

    records: int = Field(
        0, ge=0, le=1000, description="Number of records of each split to decode and show."
    )


class ReportSettings(_OfOneRun):
    """`report`: a page about a run."""

    to: str = Field(description="New HTML file to write: a path or a URI.")


class DoctorSettings(CheckSettings, _SparkOrInline):
    """Settings of `doctor`."""
