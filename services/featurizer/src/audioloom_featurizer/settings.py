"""The settings of each command: flags, AUDIOLOOM_FEATURIZER_* variables, keys of [featurizer]."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from audioloom_spark.settings import SparkSettings
from audioloom_stage.settings import Positional, Secret, Settings
from audioloom_stage.units import Size
from pydantic import Field

NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"

ROOT = "The root that runs lie under: a folder or a URI."
DEFAULT_BUDGET = "1%"
RETRY_BUDGET = "100%"

RUN_NAME = "Name the run by hand; otherwise a digest of what it is made of."


class ScanSettings(SparkSettings):
    """Settings of `scan`."""

    master: str = Field(
        "",
        description="List in Spark tasks on this master, such as yarn; else in this process.",
    )

    source: Annotated[str, Positional("SOURCE")] = Field(
        description="The folder that holds the recordings, at any depth."
    )
    root: str = Field(description=ROOT)
    inventory: str | None = Field(
        None,
        description="Do not walk, take the recordings that a table names: CSV, Parquet, a folder of"
        " Parquet files or an fsimage's dump. Column path, and size, modified_ns, label, target and"
        " group where they are known.",
    )
    pattern: str | None = Field(
        None,
        description="Regular expression for the whole path below SOURCE, with the named groups"
        " label, group and target: '(?P<label>[^/]+)/(?P<group>[^/]+)/.*'.",
    )
    labels: str | None = Field(
        None,
        description="Take label, target or group from the columns of this CSV or Parquet file, or"
        " folder of Parquet files.",
    )
    labels_jdbc: str | None = Field(
        None,
        description="Take them from a database: its URL, as jdbc:postgresql://host/name, without a"
        " password.",
    )
    labels_query: str | None = Field(
        None, description="The SELECT that answers with the table of labels."
    )
    jdbc_jar: tuple[str, ...] = Field(
        (), description="The database's driver: Maven coordinates, or a jar file."
    )
    jdbc_user: str | None = Field(None, description="Who asks the database.")
    jdbc_password: Secret | None = Field(None, description="The password.")
    jdbc_password_file: str | None = Field(None, description="The file that holds the password.")
    labels_by: Literal["path", "name", "stem", "key"] = Field(
        "path",
        description="What the table knows recordings by: path below SOURCE, file name, file name"
        " without its ending, or the pattern's named group key.",
    )
    labels_columns: dict[Literal["key", "label", "target", "group"], str] = Field(
        {},
        description="Columns of other names: label=class, target=age, group=speaker, and key=id for"
        " the one that --labels-by means.",
    )
    unlabelled: Literal["keep", "refuse", "drop"] = Field(
        "keep", description="What to do with recordings that have neither label nor target."
    )
    since: str | None = Field(
        None,
        description="List only what is not in this recordings manifest, nor in those that it was"
        " itself listed since.",
    )
    suffix: tuple[str, ...] = Field(
        (), description="Take files with this ending, such as .wav; without it all audio endings."
    )
    name: str | None = Field(None, pattern=NAME, description=RUN_NAME)


class PlanSettings(Settings):
    """Settings of `plan`: all that decides what a run makes."""

    recordings: Annotated[str, Positional("RECORDINGS")] = Field(
        description="The recordings manifest, or its folder."
    )
    root: str | None = Field(None, description=ROOT + " Default: that of RECORDINGS.")
    name: str | None = Field(None, pattern=NAME, description=RUN_NAME)
    windows: Literal["first", "all"] = Field(
        "first", description="The first window of each recording, or all of them."
    )
    channels: Literal["mix", "split", "left", "right"] = Field(
        "mix", description="Average the channels, take each by itself, or one of two."
    )
    window_seconds: float = Field(10.0, gt=0, le=3600, description="Length of a window.")
    hop_seconds: float | None = Field(
        None,
        gt=0,
        le=86400,
        description="From the start of one window to the start of the next, if not its length.",
    )
    level: Literal["window", "recording"] = Field(
        "window",
        description="Whose loudest band the 80 dB are counted from: the window's own, or that of"
        " all windows of the recording.",
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the values.")
    engine: Literal["auto", "numpy", "native", "librosa"] = Field(
        "auto",
        description="Who computes: NumPy, compiled kernels (an extra), librosa (an extra, and the"
        " reference); auto takes the kernels where they are installed.",
    )
    raw_format: Literal["alaw", "mulaw", "gsm"] | None = Field(
        None,
        description="What files are that have no header, nor the name of a format that has one;"
        " without it they are refused.",
    )
    raw_rate: int = Field(8000, ge=1000, le=768000, description="Their sampling rate, in Hz.")
    raw_channels: int = Field(1, ge=1, le=64, description="Their channels, interleaved.")
    unit_bytes: Size = Field(
        Size(256 << 20), gt=0, description="Most bytes of recordings in one unit of work."
    )
    unit_recordings: int | None = Field(
        None,
        ge=1,
        description="Most recordings in one unit; by default some 32 units, of at most 1000.",
    )


class DecodingSettings(SparkSettings):
    """Where recordings are decoded, and what that may take."""

    decoder_memory: Size = Field(
        Size(1 << 30),
        ge=256 << 20,
        description="Most memory of a process that decodes; the recording that it takes more for"
        " is refused. On YARN no more than --executor-memory leaves for a core.",
    )
    decoder_seconds: float = Field(
        300.0,
        gt=0,
        le=86400,
        description="How long a decoder may show no progress before its recording is refused.",
    )

    def for_the_record(self) -> dict[str, Any]:
        """With what decides how much is refused."""
        own = {"error_budget", "decoder_memory", "decoder_seconds"}
        return {**super().for_the_record(), **self.model_dump(mode="json", include=own)}


class RunSettings(DecodingSettings, PlanSettings):
    """Settings of `run`."""

    error_budget: str = Field(
        DEFAULT_BUDGET,
        description="How many recordings may be refused: a share, or a number; and of single"
        " classes, which then do not count towards it: 1%,damaged=0,empty=10%.",
    )


class RetrySettings(DecodingSettings):
    """Settings of `retry`."""

    features: Annotated[str, Positional("FEATURES")] = Field(
        description="The features manifest that refused recordings, or its folder."
    )
    name: str | None = Field(None, pattern=NAME, description=RUN_NAME)
    also: tuple[str, ...] = Field(
        (),
        description="Take this class of refusals too, such as no_permission, since you have mended"
        " its cause.",
    )
    error_budget: str = Field(
        RETRY_BUDGET,
        description="How many may be refused again, as in `run`; one must be readable.",
    )


class VerifySettings(Settings):
    """Settings of `verify`."""

    manifest: Annotated[str, Positional("MANIFEST")] = Field(
        description="A recordings or features manifest, or its folder."
    )
    against: Literal["librosa"] | None = Field(
        None, description="Compute some recordings anew by librosa, and say how far they are apart."
    )
    sample: int = Field(100, ge=1, le=1_000_000, description="How many recordings.")


class InspectSettings(Settings):
    """Settings of `inspect`."""

    manifest: Annotated[str, Positional("MANIFEST")] = Field(
        description="A recordings or features manifest, or its folder."
    )
    contents: bool = Field(
        default=True,
        description="Read the features too: groups, lengths, rates, channels, duplicates.",
    )
    ledger: bool = Field(default=False, description="List the refused recordings too, one a line.")


class ListSettings(Settings):
    """Settings of `list`."""

    root: str = Field(description=ROOT)


class TraceSettings(Settings):
    """Settings of `trace`."""

    root: str = Field(description=ROOT)
    more_roots: tuple[str, ...] = Field(
        (), description="More roots, where later stages wrote elsewhere."
    )
    group: tuple[str, ...] = Field((), description="Recordings of this group: a speaker, a call.")
    path: str | None = Field(
        None,
        description="Recordings whose whole path below their source this regular expression"
        " describes.",
    )


class GcSettings(Settings):
    """Settings of `gc`."""

    root: str = Field(description=ROOT)
    dry_run: bool = Field(default=False, description="Only say what would be deleted.")
    delete: bool = Field(default=False, description="Delete it.")
    older_than: str = Field(
        "24h", description="Leave alone what was changed since: 30m, 24h, 7d, 0s."
    )
