"""The settings of each command: flags, AUDIOLOOM_FEATURIZER_* variables, keys of [featurizer]."""

from typing import Annotated, Any, ClassVar, Literal

from audioloom_manifest.feature_sample import FILES
from audioloom_runs.settings import CheckSettings, GcSettings, ListSettings, RootSettings, RunName
from audioloom_spark.settings import SparkSettings
from audioloom_stage.arguments import Value, check_no_secret
from audioloom_stage.settings import Positional, Secret, Settings
from audioloom_stage.units import Duration, Size
from pydantic import AfterValidator, BeforeValidator, Field

__all__ = ["GcSettings", "ListSettings"]  # those of other modules

DEFAULT_BUDGET = "1%"
RETRY_BUDGET = "100%"

WindowColumn = Literal[
    "values", "path", "member", "window", "channel", "label", "target", "group", "flags",
    "start_seconds", "valid_samples", "valid_frames", "recording_sha256", "recording_bytes",
    "recording_seconds", "recording_rate", "recording_channels", "recording_format",
]  # fmt: skip
"""The columns of a table of windows; all but `values` are those of a features file."""

SHAPE = r"^[1-9][0-9]{0,6}x[1-9][0-9]{0,6}$"
FEATURE_NAME = r"^[a-z][a-z0-9_]{0,99}$"
"""A name that files of features and records of shards can hold."""

_NAME = "Name of the run. Default: a digest of recipe and inputs."
_FUNCTION = "Function that made the features, if one did: file.py:name."


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class ScanSettings(RootSettings, SparkSettings):
    """Settings of `scan`."""

    masters: ClassVar[str] = f"|{SparkSettings.masters}"
    groups: ClassVar = {
        "Labels": "pattern labels labels_by labels_columns unlabelled",
        "Labels from a database": (
            "labels_jdbc labels_query jdbc_jar jdbc_user jdbc_password jdbc_password_file"
        ),
    }

    source: Annotated[tuple[str, ...], Positional("SOURCE"), BeforeValidator(_several)] = Field(
        min_length=1,
        description="Folders, files, globs, or chains (zip://*.wav::FILE): paths or URIs.",
    )
    master: str = Field("", description="Spark master that lists; otherwise this process does.")
    name: RunName | None = Field(None, description=_NAME)
    suffix: tuple[str, ...] = Field(
        (), description="File suffix of recordings, such as .wav. Default: every audio suffix."
    )
    containers: bool = Field(
        default=False,
        description="List the recordings inside tar, zip, SequenceFile, Avro and Parquet files.",
    )
    inventory: str | None = Field(
        None, description="Table of the recordings (CSV, Parquet, fsimage) instead of a walk."
    )
    limit: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="List a sample of so many recordings, for a trial run.",
    )
    since: str | None = Field(
        None, description="Earlier recordings manifest: list only what it lacks."
    )
    pattern: str | None = Field(
        None, description="Regular expression for paths, with groups label, group and target."
    )
    labels: str | None = Field(
        None, description="CSV or Parquet table with the columns label, target or group."
    )
    labels_by: Literal["path", "name", "stem", "key"] = Field(
        "path", description="How the table names recordings; key is a group of --pattern."
    )
    labels_columns: dict[Literal["key", "label", "target", "group"], str] = Field(
        {}, description="Columns with other names: label=class, group=speaker, key=id."
    )
    unlabelled: Literal["keep", "refuse", "drop"] = Field(
        "keep", description="What to do with recordings without label and target."
    )
    labels_jdbc: str | None = Field(
        None, description="Database of labels: jdbc:postgresql://host/name, without password."
    )
    labels_query: str | None = Field(None, description="SELECT that returns the table of labels.")
    jdbc_jar: tuple[str, ...] = Field(
        (), description="JDBC driver: Maven coordinates or a jar file."
    )
    jdbc_user: str | None = Field(None, description="User of the database.")
    jdbc_password: Secret | None = Field(None, description="Password of the database.")
    jdbc_password_file: str | None = Field(None, description="File that holds the password.")


class RecipeSettings(Settings):
    """All that decides what a run makes."""

    groups: ClassVar = {
        "Windows": "windows window_seconds hop_seconds channels digest",
        "Audio without a header": "raw_format raw_rate raw_channels",
        "Units of work": "unit_bytes unit_recordings",
        "Feature": (
            "feature feature_arg preset sample_rate n_fft hop_length n_mels n_mfcc fmin fmax top_db"
            " level normalise dtype engine"
        ),
    }

    feature: str = Field(
        "mfcc",
        description="Feature: mfcc, log-mel, waveform, module:function or file.py:function.",
    )
    feature_arg: Annotated[dict[str, Value], AfterValidator(check_no_secret)] = Field(
        {}, description="Argument of the function, such as n_chroma=24."
    )
    preset: Literal["speech-8k", "speech-16k", "music-44k"] | None = Field(
        None, description="Settings for a kind of recordings; other flags change single ones."
    )
    sample_rate: int | None = Field(
        None, ge=1000, le=768000, description="Resample to this rate, in Hz. Default: 16000."
    )
    n_fft: int | None = Field(None, ge=2, description="Samples per frame. Default: 2048.")
    hop_length: int | None = Field(
        None, ge=1, description="Samples from a frame to the next. Default: 512."
    )
    n_mels: int | None = Field(None, ge=1, description="Mel bands. Default: 128.")
    n_mfcc: int | None = Field(None, ge=1, description="Coefficients of an MFCC. Default: 40.")
    fmin: float | None = Field(None, ge=0, description="Lowest frequency of the bands. Default: 0.")
    fmax: float | None = Field(
        None, gt=0, description="Highest frequency of the bands. Default: half the sample rate."
    )
    top_db: float | None = Field(
        None, ge=1, le=1000, description="Range below the loudest band, in dB. Default: 80."
    )
    level: Literal["window", "recording"] | None = Field(
        None, description="Whose loudest band that is: the window's or the recording's."
    )
    normalise: Literal["window", "none"] = Field(
        "window", description="Give each window mean 0 and deviation 1, or leave its values."
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the values.")
    engine: Literal["auto", "numpy", "native", "librosa"] = Field(
        "auto", description="Implementation; auto is native where that works, otherwise numpy."
    )
    recordings: Annotated[str, Positional("RECORDINGS")] = Field(
        description="Recordings manifest, or its folder."
    )
    root: str | None = Field(
        None, description="Root folder to write under. Default: that of RECORDINGS."
    )
    name: RunName | None = Field(None, description=_NAME)
    windows: Literal["first", "all"] = Field(
        "first", description="Take the first window of each recording, or all."
    )
    window_seconds: float = Field(
        10.0, gt=0, le=3600, description="Length of a window, in seconds."
    )
    hop_seconds: float | None = Field(
        None,
        gt=0,
        le=86400,
        description="Seconds between the starts of windows. Default: the window's length.",
    )
    channels: Literal["mix", "split", "left", "right"] = Field(
        "mix", description="Average the channels, split them, or take one."
    )
    digest: Literal["whole", "head"] = Field(
        "whole", description="Digest the whole recording, or its first MiB and its size."
    )
    raw_format: Literal["alaw", "mulaw", "gsm"] | None = Field(
        None, description="Coding of files without a header. Default: refuse them."
    )
    raw_rate: int = Field(8000, ge=1000, le=768000, description="Sample rate of such files, in Hz.")
    raw_channels: int = Field(1, ge=1, le=64, description="Interleaved channels of such files.")
    unit_bytes: Size | None = Field(
        None, gt=0, description="Most bytes of recordings in a unit. Default: by the output."
    )
    unit_recordings: int | None = Field(
        None, ge=1, description="Most recordings in a unit. Default: by the output."
    )


class PlanSettings(RecipeSettings, SparkSettings):
    """Settings of `plan`."""

    groups: ClassVar = {"Capacity": "capacity"}

    capacity: bool = Field(
        default=False, description="Show what the run takes, from counts alone, with verdicts."
    )


class DecodingSettings(SparkSettings):
    """Where recordings are decoded, and what that may take."""

    groups: ClassVar = {"Limits": "error_budget decoder_memory decoder_timeout"}

    error_budget: str = Field(
        DEFAULT_BUDGET,
        description="Recordings that may be refused: a share, a number, or 1%,damaged=0.",
    )
    decoder_memory: Size = Field(
        Size(1 << 30), ge=256 << 20, description="Largest memory of a decoding process."
    )
    decoder_timeout: Duration = Field(
        Duration(300), gt=0, le=86400, description="Refuse a recording without progress for this."
    )

    def for_the_record(self) -> dict[str, Any]:
        """With what decides how much is refused."""
        own = {"error_budget", "decoder_memory", "decoder_timeout"}
        return {**super().for_the_record(), **self.model_dump(mode="json", include=own)}


class RunSettings(RecipeSettings, DecodingSettings):
    """Settings of `run`."""


class RetrySettings(DecodingSettings):
    """Settings of `retry`."""

    features: Annotated[str, Positional("FEATURES")] = Field(
        description="Features manifest that refused recordings, or its folder."
    )
    name: RunName | None = Field(None, description=_NAME)
    feature: str | None = Field(None, description=_FUNCTION)
    also: tuple[str, ...] = Field(
        (), description="Retry this class of refusals too, such as no_permission."
    )
    error_budget: str = Field(
        RETRY_BUDGET, description="Recordings that may be refused again; one must be readable."
    )


class ImportSettings(RootSettings):
    """Settings of `import`."""

    groups: ClassVar = {
        "Columns": "columns shape unlabelled",
        "Feature": "feature_name dtype sample_rate window_seconds",
    }

    table: Annotated[str, Positional("TABLE")] = Field(
        description="Parquet file of windows, or a folder of such files."
    )
    name: RunName | None = Field(None, description=_NAME)
    columns: dict[WindowColumn, str] = Field(
        {}, description="Columns with other names: values=embedding, label=class, path=id."
    )
    shape: Annotated[str, Field(pattern=SHAPE)] | None = Field(
        None, description="Coefficients and frames of flat values, such as 40x313."
    )
    unlabelled: Literal["keep", "refuse", "drop"] = Field(
        "keep", description="What to do with windows without label and target."
    )
    feature_name: Annotated[str, Field(pattern=FEATURE_NAME)] = Field(
        "features", description="Name of the feature, such as mfcc."
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the values.")
    sample_rate: int | None = Field(
        None, ge=1000, le=768000, description="Rate of the recordings, in Hz. Default: 16000."
    )
    window_seconds: float | None = Field(
        None, gt=0, le=3600, description="Length of a window, in seconds, if known."
    )


class VerifySettings(Settings):
    """Settings of `verify`."""

    manifest: Annotated[str, Positional("MANIFEST")] = Field(
        description="Recordings or features manifest, or its folder."
    )
    against: Literal["librosa"] | None = Field(
        None, description="Recompute some recordings with librosa and compare the values."
    )
    sample: int = Field(100, ge=1, le=1_000_000, description="Number of recordings to recompute.")
    feature: str | None = Field(None, description=_FUNCTION)


class InspectSettings(Settings):
    """Settings of `inspect`."""

    manifest: Annotated[str, Positional("MANIFEST")] = Field(
        description="Recordings or features manifest, or its folder."
    )
    contents: bool = Field(
        default=True, description="Read the features too: groups, lengths, rates, duplicates."
    )
    ledger: bool = Field(default=False, description="List the refused recordings, one a line.")


class ReportSettings(Settings):
    """Settings of `report`."""

    manifest: Annotated[str, Positional("FEATURES")] = Field(
        description="Features manifest, or its folder."
    )
    to: str = Field(description="New HTML file to write: a path or a URI.")
    files: int = Field(
        FILES, ge=1, description="Features files to read, spread evenly over the run."
    )


class TraceSettings(RootSettings):
    """Settings of `trace`."""

    more_roots: tuple[str, ...] = Field(
        (), description="Further roots, where later stages wrote elsewhere."
    )
    group: tuple[str, ...] = Field((), description="Group of recordings: a speaker, a call.")
    path: str | None = Field(
        None, description="Regular expression for whole paths below the source."
    )


class DoctorSettings(CheckSettings, SparkSettings):
    """Settings of `doctor`."""
