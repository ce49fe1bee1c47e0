"""The four kinds of manifest: what each says beyond the envelope.

Read with `shared/contracts/SPEC.md` beside it: the meaning of each field stands there.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from audioloom_manifest.envelope import (
    Count,
    Envelope,
    Kind,
    LabelCounts,
    Name,
    Parameters,
    Part,
    Positive,
    Recipe,
    Sha256,
    Text,
    Uri,
    Word,
    since,
)

Share = Annotated[float, Field(gt=0, le=1)]
Weight = Annotated[float, Field(gt=0, le=1e9)]
ClassWeights = Annotated[dict[Text, Weight], Field(min_length=1, max_length=100_000)]


# --- recordings --------------------------------------------------------------------------------


class RecordingsRecipe(Recipe):
    """What was listed, and how labels and groups were taken from the paths."""

    source: Uri = Field(description="URI of the folder that paths are relative to")
    suffixes: tuple[Word, ...] = Field(description="file name endings taken; empty takes all")
    pattern: Text | None = Field(description="regular expression with groups label, group, target")
    listing_sha256: Sha256 = Field(description="digest of the listing itself")
    labels_sha256: Sha256 | None = Field(
        None,
        description="digest of what tables say of the recordings; without it only the paths do",
    )
    unlabelled: Literal["keep", "drop"] = Field(
        "keep", description="what became of recordings with neither label nor target"
    )


class RecordingsStats(Part):
    """What the listing holds."""

    recordings: Count
    bytes: Count
    labelled: Count
    grouped: Count
    dropped: Count = Field(default=0, description="recordings left out because nothing labels them")
    labels: LabelCounts


class RecordingsManifest(Envelope):
    """A list of recordings: the inventory."""

    kind: Literal["recordings"]
    recipe: RecordingsRecipe
    stats: RecordingsStats


# --- features ----------------------------------------------------------------------------------


class Feature(Part):
    """The feature that each window holds: a matrix of fixed shape."""

    name: Name
    dtype: Literal["float32", "float16"]
    shape: tuple[Positive, Positive] = Field(description="(coefficients, frames), C order")
    sample_rate: Positive
    parameters: Parameters = Field(description="of the named feature, such as n_fft")


class Headerless(Part):
    """What recordings without a header are."""

    coding: Word
    sample_rate: Positive
    channels: Positive


class FeaturesRecipe(Recipe):
    """How recordings become windows of features."""

    feature: Feature
    engine: Word
    windows: Literal["first", "all"]
    channels: Literal["mix", "split", "left", "right"]
    headerless: Headerless | None = Field(
        None, description="what files are that begin like no format known; without it, refused"
    )
    unit_bytes: Positive
    unit_recordings: Positive
    digest: Annotated[Literal["whole", "head"], since(1, "whole")] = Field(
        default="whole", description="the bytes of a recording that `recording_sha256` covers"
    )


class Agreement(Part):
    """How far the values of a sample of recordings are from another library's."""

    library: Word = Field(description="name and version")
    recordings: Positive = Field(description="recordings that it computed again")
    windows: Positive = Field(description="windows of these recordings that were compared")
    deviation: Annotated[float, Field(ge=0)] = Field(
        description="largest difference of two values, two digits"
    )


class FeaturesStats(Part):
    """Where every input ended: features or ledger."""

    recordings: Count = Field(description="inputs: extracted + refused")
    extracted: Count
    refused: Count
    flagged: Count
    windows: Count
    audio_seconds: Annotated[float, Field(ge=0)]
    refusals: dict[Word, Count]
    labels: LabelCounts = Field(description="windows per label")
    agreement: Annotated[Agreement | None, since(1)] = Field(
        default=None, description="with another library; null if it was not compared"
    )


class FeaturesManifest(Envelope):
    """Windows of features as Parquet, and the ledger of what was refused."""

    kind: Literal["features"]
    recipe: FeaturesRecipe
    stats: FeaturesStats


# --- shards ------------------------------------------------------------------------------------

SHARD_COMPRESSIONS: dict[str, tuple[str, ...]] = {
    "tfrecord": ("none", "gzip", "zlib"),
    "parquet": ("none", "gzip", "zstd"),
    "avro": ("none", "deflate"),
    "orc": ("none", "zlib", "zstd"),
}
"""The compressions of each format of shards, under the names that its readers know."""


class ShardsRecipe(Recipe):
    """How windows are assigned to splits and shards."""

    seed: Count
    lanes: Positive
    shards: Positive | None = Field(description="shards of the largest split, when asked for")
    shard_bytes: Positive | None = Field(description="bytes aimed at in one shard, else")
    splits: dict[Name, Share] = Field(
        max_length=100, description="the wish; empty when the data say the splits"
    )
    ungrouped: Literal["refuse", "by-recording"]
    labels: tuple[Text, ...] | None = Field(description="the vocabulary when it was given")
    target: Literal["label", "number"]
    compression: Literal["none", "gzip", "zlib", "deflate", "zstd"]
    format: Literal["tfrecord", "parquet", "avro", "orc"] = Field(
        "tfrecord", description="of the shards; a trainer may read TFRecord alone"
    )
    only_labels: tuple[Text, ...] | None = Field(None, description="windows with these alone")
    without_flags: tuple[Word, ...] = Field((), description="windows with these are left out")
    min_seconds: Annotated[float, Field(ge=0)] = Field(
        0.0, description="windows with less recording are left out"
    )
    class_weights: Literal["balanced"] | ClassWeights | None = Field(
        default=None,
        description="what a record counts in the loss, by its label; 1 for those not named",
    )
    resample: Literal["none", "under", "over"] = Field(
        default="none",
        description="how the labels of the split that is trained on become equally frequent",
    )
    stratify: bool = Field(default=False, description="every label is shared out as splits says")
    split_pattern: Text | None = Field(
        None, description="regular expression with the group split, for the path of a recording"
    )
    split_table_sha256: Sha256 | None = Field(None, description="of the table that says the splits")
    unassigned: Literal["refuse", "drop"] = Field(
        "refuse", description="what became of windows that pattern or table say no split of"
    )

    @model_validator(mode="after")
    def _one_size(self) -> "ShardsRecipe":
        if (self.shards is None) == (self.shard_bytes is None):
            raise ValueError("exactly one of shards and shard_bytes is set")
        ways = [self.splits, self.split_pattern, self.split_table_sha256]
        if sum(bool(way) for way in ways) != 1:
            raise ValueError("exactly one of splits, split_pattern and split_table_sha256 is set")
        if not self.splits:
            if self.stratify:
                raise ValueError("stratify needs the splits that were wished for")
            return self
        if abs(sum(self.splits.values()) - 1) > 1e-6:  # noqa: PLR2004
            raise ValueError(f"the shares of the splits add up to {sum(self.splits.values())}")
        return self

    @model_validator(mode="after")
    def _known_compression(self) -> "ShardsRecipe":
        if self.compression not in (known := SHARD_COMPRESSIONS[self.format]):
            raise ValueError(
                f"{self.format} shards with compression {self.compression}: expected one of"
                f" {', '.join(known)}"
            )
        return self


class ShardFeature(Part):
    """The feature inside each record."""

    name: Name
    dtype: Literal["float32", "float16"]
    shape: tuple[Positive, Positive]


class CoefficientStats(Part):
    """Mean and variance of each coefficient, over all frames of all records of a split."""

    mean: Annotated[tuple[float, ...], Field(min_length=1, max_length=100_000)]
    variance: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(max_length=100_000)]

    @model_validator(mode="after")
    def _one_each(self) -> "CoefficientStats":
        if len(self.mean) != len(self.variance):
            raise ValueError(f"{len(self.mean)} means and {len(self.variance)} variances")
        return self


class TargetStats(Part):
    """Mean and variance of the numbers that are learned, over all records of a split."""

    mean: float
    variance: Annotated[float, Field(ge=0)]


class SplitStats(Part):
    """One split: its shards are numbered 0 … shards-1 and hold the same number of records ±1."""

    records: Positive
    shards: Positive
    lanes: Positive = Field(description="divides shards; replicas must divide it")
    bytes: Count
    recordings: Count
    groups: Count
    labels: LabelCounts
    coefficients: CoefficientStats | None = Field(
        None, description="for normalisation; those of the split that is trained on"
    )
    targets: TargetStats | None = Field(
        None, description="where numbers are learned, of those in the records"
    )

    @model_validator(mode="after")
    def _whole_lanes(self) -> "SplitStats":
        if self.shards % self.lanes or self.shards > self.records:
            raise ValueError(
                f"{self.shards} shards, {self.lanes} lanes, {self.records} records: shards is a"
                " multiple of lanes and none is empty"
            )
        return self


class LabelCopies(Part):
    """How often a window of one label is taken: *copies* times, and once more below a rank hash."""

    copies: Count
    one_more_below: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class ShardsStats(Part):
    """What the shards hold, and all that a trainer needs to count its steps."""

    feature: ShardFeature
    labels: tuple[Text, ...] = Field(max_length=100_000, description="label_id is the index here")
    splits: dict[Name, SplitStats] = Field(min_length=1)
    excluded: dict[Text, Count] = Field(
        default_factory=dict,
        max_length=1000,
        description="windows that the recipe's filters left out",
    )
    class_weights: ClassWeights | None = Field(
        default=None,
        description="what a record counts in the loss of the split that is trained on",
    )
    resampling: dict[Text, LabelCopies] | None = Field(
        default=None,
        max_length=10_000,
        description="how often the windows of each label are in the split that is trained on",
    )


class ShardsManifest(Envelope):
    """Balanced shards, and the indexes of those that are TFRecord."""

    kind: Literal["shards"]
    recipe: ShardsRecipe
    stats: ShardsStats


# --- training-run ------------------------------------------------------------------------------


class ModelRef(Part):
    """A function that builds something, and what it is: the digest of its file, or a revision."""

    function: Text = Field(description="package.module:function, file.py:function, or builtin:NAME")
    sha256: Sha256 | None = Field(description="of the file that holds it; null of a built-in one")
    revision: Positive | None = Field(
        default=None, description="of a built-in one: raised when its results change"
    )
    arguments: Parameters

    @model_validator(mode="after")
    def _identified(self) -> "ModelRef":
        builtin = self.function.startswith("builtin:")
        if builtin != (self.sha256 is None) or builtin != (self.revision is not None):
            raise ValueError("a built-in function has a revision, any other the sha256 of its file")
        return self


class TrainingRunRecipe(Recipe):
    """What was trained, on which order of the data."""

    model: ModelRef
    epochs: Positive
    batch_size: Positive = Field(description="records of a global batch, whatever the replicas")
    seed: Count
    shuffle_window: Positive = Field(description="shards of a lane that are shuffled together")
    deterministic: bool
    callbacks: ModelRef | None = Field(
        default=None, description="the function that makes the callbacks"
    )
    keras: Literal["3", "legacy"] = Field(
        default="3", description="what the model is made with: Keras 3, or the older tf_keras"
    )


class TrainingRunStats(Part):
    """What came out."""

    steps: Count
    records: Count = Field(description="records trained on, all epochs")
    replicas: Positive
    parameters: Count
    scores: dict[Name, dict[Word, float]] = Field(
        description="per split: loss, the model's metrics, chance, majority"
    )


class TrainingRunManifest(Envelope):
    """A trained model, its scores and its history."""

    kind: Literal["training-run"]
    recipe: TrainingRunRecipe
    stats: TrainingRunStats


Manifest = RecordingsManifest | FeaturesManifest | ShardsManifest | TrainingRunManifest

MODELS: dict[Kind, type[Envelope]] = {
    "recordings": RecordingsManifest,
    "features": FeaturesManifest,
    "shards": ShardsManifest,
    "training-run": TrainingRunManifest,
}
