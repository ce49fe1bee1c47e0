"""The settings of each command: flags, AUDIOLOOM_FEATURIZER_* variables, keys of [featurizer]."""

from typing import Annotated, Any, ClassVar, Literal

from audioloom_runs.settings import GcSettings, ListSettings, RootSettings, RunName
from audioloom_spark.settings import SparkSettings
from audioloom_stage.settings import Positional, Secret, Settings
from audioloom_stage.units import Duration, Size
from pydantic import Field

__all__ = [
    "DEFAULT_BUDGET",
    "RETRY_BUDGET",
    "GcSettings",
    "InspectSettings",
    "ListSettings",
    "PlanSettings",
    "RetrySettings",
    "RunSettings",
    "ScanSettings",
    "TraceSettings",
    "VerifySettings",
]

DEFAULT_BUDGET = "1%"
RETRY_BUDGET = "100%"

_NAME = "Name of the run. Default: a digest of recipe and inputs."


class ScanSettings(RootSettings, SparkSettings):
    """Settings of `scan`."""

    groups: ClassVar = {
        "Labels": "pattern labels labels_by labels_columns unlabelled",
        "Labels from a database": (
            "labels_jdbc labels_query jdbc_jar jdbc_user jdbc_password jdbc_password_file"
        ),
    }

    source: Annotated[str, Positional("SOURCE")] = Field(
        description="Folder of the recordings, at any depth: a path or a URI."
    )
    master: str = Field("", description="Spark master that lists; otherwise this process does.")
    name: RunName | None = Field(None, description=_NAME)
    suffix: tuple[str, ...] = Field(
        (), description="File suffix of recordings, such as .wav. Default: every audio suffix."
    )
    inventory: str | None = Field(
        None, description="Table of the recordings (CSV, Parquet, fsimage) instead of a walk."
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


class PlanSettings(Settings):
    """Settings of `plan`: all that decides what a run makes."""

    groups: ClassVar = {
        "Windows and features": "windows window_seconds hop_seconds channels level dtype engine",
        "Audio without a header": "raw_format raw_rate raw_channels",
        "Units of work": "unit_bytes unit_recordings",
    }

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
    level: Literal["window", "recording"] = Field(
        "window", description="Reference of the 80 dB range: the window or the recording."
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the values.")
    engine: Literal["auto", "numpy", "native", "librosa"] = Field(
        "auto", description="MFCC implementation; auto is native where installed, otherwise numpy."
    )
    raw_format: Literal["alaw", "mulaw", "gsm"] | None = Field(
        None, description="Coding of files without a header. Default: refuse them."
    )
    raw_rate: int = Field(8000, ge=1000, le=768000, description="Sample rate of such files, in Hz.")
    raw_channels: int = Field(1, ge=1, le=64, description="Interleaved channels of such files.")
    unit_bytes: Size = Field(
        Size(256 << 20), gt=0, description="Largest size of a unit's recordings."
    )
    unit_recordings: int | None = Field(
        None, ge=1, description="Most recordings in a unit. Default: about 32 units in all."
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


class RunSettings(PlanSettings, DecodingSettings):
    """Settings of `run`."""


class RetrySettings(DecodingSettings):
    """Settings of `retry`."""

    features: Annotated[str, Positional("FEATURES")] = Field(
        description="Features manifest that refused recordings, or its folder."
    )
    name: RunName | None = Field(None, description=_NAME)
    also: tuple[str, ...] = Field(
        (), description="Retry this class of refusals too, such as no_permission."
    )
    error_budget: str = Field(
        RETRY_BUDGET, description="Recordings that may be refused again; one must be readable."
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


class InspectSettings(Settings):
    """Settings of `inspect`."""

    manifest: Annotated[str, Positional("MANIFEST")] = Field(
        description="Recordings or features manifest, or its folder."
    )
    contents: bool = Field(
        default=True, description="Read the features too: groups, lengths, rates, duplicates."
    )
    ledger: bool = Field(default=False, description="List the refused recordings, one a line.")


class TraceSettings(RootSettings):
    """Settings of `trace`."""

    more_roots: tuple[str, ...] = Field(
        (), description="Further roots, where later stages wrote elsewhere."
    )
    group: tuple[str, ...] = Field((), description="Group of recordings: a speaker, a call.")
    path: str | None = Field(
        None, description="Regular expression for whole paths below the source."
    )
