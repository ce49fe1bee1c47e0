"""The settings of every command: a field is a flag, an AUDIOLOOM_TRAINER_* variable and a key."""

from typing import Annotated, Any, ClassVar, Literal

from audioloom_runs.settings import CheckSettings, GcSettings, ListSettings, RunName
from audioloom_stage.arguments import Value, check_no_secret
from audioloom_stage.settings import Positional, Settings
from audioloom_stage.units import Duration, Size
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

__all__ = ["GcSettings", "ListSettings"]  # those of other modules

DEFAULT_MODEL = "builtin:conv1d"


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class _ModelSettings(Settings):
    """Settings of a command that builds a model and reads shards."""

    groups: ClassVar = {"Resources": "cache cache_bytes storage_timeout threads"}

    model_arg: Annotated[dict[str, Value], AfterValidator(check_no_secret)] = Field(
        default_factory=dict,
        description="Argument of the model function; secrets only as token=env:HF_TOKEN.",
    )
    keras: Annotated[Literal["3", "legacy"], BeforeValidator(_as_text)] = Field(
        "3", description="Keras version of the model: 3, or legacy (tf_keras)."
    )
    cache: str | None = Field(
        None, description="Local folder for copies of shards. Default: chosen by the storage."
    )
    cache_bytes: Size = Field(
        Size(20 << 30), gt=0, description="Largest size of this worker's cache."
    )
    storage_timeout: Duration = Field(
        Duration(300), ge=0, description="Retry unavailable storage or a full disk for this long."
    )
    threads: int = Field(
        0, ge=0, le=4096, description="Threads of TensorFlow and NumPy; 0 means all cores."
    )


class RunSettings(_ModelSettings):
    """`run`: train."""

    groups: ClassVar = {
        "Model": "model model_arg keras callbacks callback_arg stateless_callbacks",
        "Training": (
            "epochs batch_size seed shuffle_window deterministic allow_zero_loss"
            " allow_exploding_loss compare_steps"
        ),
        "Checkpoints": "checkpoint_interval checkpoint_steps keep_checkpoints",
    }

    shards: Annotated[str, Positional("SHARDS")] = Field(
        description="Shards run: its folder or manifest."
    )
    root: str | None = Field(
        None, description="Root folder to write under. Default: that of SHARDS."
    )
    name: RunName | None = Field(
        None, description="Name of the run. Default: a digest of recipe and shards."
    )
    model: str = Field(
        DEFAULT_MODEL,
        description="Model function: builtin:NAME, package.module:function or file.py:function.",
    )
    callbacks: str | None = Field(
        None, description="Function that returns Keras callbacks, such as builtin:early_stopping."
    )
    callback_arg: Annotated[dict[str, Value], AfterValidator(check_no_secret)] = Field(
        default_factory=dict,
        description="Argument of the callbacks function; secrets as for --model-arg.",
    )
    stateless_callbacks: bool = Field(
        default=False, description="Accept callbacks without state: a restart resets them."
    )
    epochs: int = Field(20, ge=1, le=1_000_000, description="Number of epochs.")
    batch_size: int = Field(
        64, ge=1, le=1_000_000, description="Records of a global batch, over all replicas."
    )
    seed: int = Field(
        0, ge=0, le=2**63 - 1, description="Seed of the order, the weights and dropout."
    )
    shuffle_window: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Shards of a lane shuffled together. Default: 8, fewer with many lanes.",
    )
    deterministic: bool = Field(
        default=True, description="Compute the same bits every time; slower on GPUs."
    )
    allow_zero_loss: bool = Field(
        default=False, description="Continue when the loss of the first batch is exactly 0."
    )
    allow_exploding_loss: bool = Field(
        default=False, description="Continue when the loss grows a million times."
    )
    compare_steps: int = Field(
        100, ge=1, description="Steps between comparisons of the replicas' weights."
    )
    checkpoint_interval: Duration | None = Field(
        Duration(600), gt=0, description="Time between checkpoints."
    )
    checkpoint_steps: int | None = Field(
        None, ge=1, description="Steps between checkpoints, in addition to the interval."
    )
    keep_checkpoints: int = Field(2, ge=1, le=1000, description="Number of checkpoints to keep.")

    @model_validator(mode="after")
    def _callbacks_can_be_called(self) -> "RunSettings":
        if self.callbacks is None and (self.callback_arg or self.stateless_callbacks):
            raise ValueError(
                "--callback-arg and --stateless-callbacks are for --callbacks: give it"
            )
        if self.callbacks is not None and self.keras == "legacy":
            raise ValueError(
                "--callbacks are those of Keras 3, which --keras legacy cannot call: leave one out"
            )
        return self


class PlanSettings(RunSettings):
    """`plan`: show what run would do."""

    groups: ClassVar = {"Capacity": "capacity replicas parameters"}

    capacity: bool = Field(
        default=False, description="Show what the run takes, from counts alone, with verdicts."
    )
    replicas: int = Field(1, ge=1, le=100_000, description="Replicas of the planned training.")
    parameters: int | None = Field(
        None, ge=1, description="Parameters of the model, to predict its checkpoints."
    )


class _OfOneRun(Settings):
    run: Annotated[str, Positional("RUN")] = Field(
        description="Training run: its folder or manifest."
    )


class EvaluateSettings(_ModelSettings):
    """`evaluate`: score a run on shards."""

    groups: ClassVar = {"Model": "model model_arg keras"}

    run: Annotated[str, Positional("RUN")] = Field(
        "", description="Training run: its folder or manifest. Optional with --follow."
    )
    shards: str | None = Field(
        None, description="Shards run to score on. Default: that of the training."
    )
    split: tuple[str, ...] = Field((), description="Split to score. Default: all but train.")
    batch_size: int = Field(64, ge=1, le=1_000_000, description="Records of a batch.")
    follow: bool = Field(
        default=False, description="Score each new checkpoint until the run is committed."
    )
    model: str | None = Field(
        None, description="Model function as given to `run`, if the model has own classes."
    )

    @model_validator(mode="after")
    def _is_followed_or_finished(self) -> "EvaluateSettings":
        if self.follow and self.shards is None:
            raise ValueError("--follow needs --shards: a run that is not committed names none")
        if not self.follow and not self.run:
            raise ValueError("RUN is required: give it on the command line")
        if not self.follow and (self.model_arg or self.keras != "3"):
            raise ValueError("--model-arg and --keras are for --follow: a committed run says both")
        return self


class ExportSettings(_OfOneRun):
    """`export`: the model, for use elsewhere."""

    to: str = Field(description="Folder to write into; made if it is missing.")
    format: Literal["keras", "saved-model"] = Field(
        "keras", description="Format: a .keras file, or a SavedModel folder."
    )


class InspectSettings(_OfOneRun):
    """`inspect`: what a run is, or how far."""


class VerifySettings(_OfOneRun):
    """`verify`: read all of a run again."""

    inputs: bool = Field(
        default=True, description="Read the shards' manifest too, and compare what it says."
    )


class DoctorSettings(CheckSettings):
    """Settings of `doctor`."""

    cache: str | None = Field(None, description="Local folder for copies of shards.")
    cache_bytes: Size = Field(
        Size(20 << 30), gt=0, description="Largest size of this worker's cache."
    )
