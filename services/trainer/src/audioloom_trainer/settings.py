"""The settings of every command: a field is a flag, an AUDIOLOOM_TRAINER_* variable and a key."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from audioloom_stage import Positional, Settings
from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from audioloom_trainer.models.arguments import Value, check_no_secret

DEFAULT_MODEL = "builtin:conv1d"

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,15})\s*([A-Za-z]{0,3})")
_NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"


def parse_bytes(text: str) -> int:
    """Bytes in `512MiB`, `20GB` or `65536`.

    Raises:
        ValueError: it says no positive size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].upper() not in _UNITS or not int(match[1]):
        raise ValueError(f"expected a size like 512MiB, 20GB or 65536, found {text!r}")
    return int(match[1]) * _UNITS[match[2].upper()]


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ModelArguments = Annotated[
    dict[str, Value],
    AfterValidator(check_no_secret),
    Field(
        description="Arguments for the model function, as key=value; may be repeated. A secret is"
        " named, never given: hf_token=env:HF_TOKEN takes it from that variable."
    ),
]
CallbackArguments = Annotated[
    dict[str, Value],
    AfterValidator(check_no_secret),
    Field(
        description="Arguments for the callbacks' function, as key=value; may be repeated. Secrets"
        " as for --model-arg."
    ),
]
Threads = Annotated[
    int,
    Field(
        ge=0,
        le=4096,
        description="Threads of TensorFlow and of NumPy's arithmetic; 0 takes the cores there are.",
    ),
]
Cache = Annotated[
    str | None,
    Field(
        description="Folder on local disk for copies of shards. Default: read them in place; where"
        " they lie on HDFS, the container's local folder or a temporary one."
    ),
]
CacheBytes = Annotated[
    str,
    BeforeValidator(_as_text),
    Field(description="Most that the copies of this worker may take, such as 20GiB."),
]
Patience = Annotated[
    float,
    Field(
        ge=0,
        description="How long storage that does not answer, or a full disk, is tried again.",
    ),
]


class RunSettings(Settings):
    """`run`: train."""

    shards: Annotated[str, Positional("SHARDS")] = Field(
        description="A shards run: its folder or manifest."
    )
    root: str | None = Field(
        None, description="Root to write under, in runs/. Default: the root of the shards."
    )
    name: str | None = Field(
        None, pattern=_NAME, description="Name of the run. Default: a digest of recipe and shards."
    )
    model: str = Field(
        DEFAULT_MODEL,
        description="Function that returns a compiled Keras 3 model: package.module:function,"
        " path/to/file.py:function, builtin:conv1d or builtin:conv2d_gru.",
    )
    model_arg: ModelArguments = Field(default_factory=dict)
    keras: Annotated[Literal["3", "legacy"], BeforeValidator(_as_text)] = Field(
        "3", description="What the model is made with: Keras 3, or the older one of tf_keras."
    )
    callbacks: str | None = Field(
        None,
        description="Function that returns a list of Keras callbacks, named as --model is; such as"
        " builtin:early_stopping.",
    )
    callback_arg: CallbackArguments = Field(default_factory=dict)
    stateless_callbacks: bool = Field(
        default=False,
        description="Take callbacks that have no get_state() and set_state(): after a restart they"
        " begin anew.",
    )
    epochs: int = Field(20, ge=1, le=1_000_000, description="Times that each record is seen.")
    batch_size: int = Field(
        64, ge=1, le=1_000_000, description="Records of a global batch, over all replicas together."
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Of the order, the weights and dropout.")
    shuffle_window: int = Field(
        8, ge=1, le=1_000_000, description="Shards of a lane that are shuffled together."
    )
    deterministic: bool = Field(
        default=True, description="Give the same bits for the same replicas, at some cost on GPUs."
    )
    checkpoint_steps: int | None = Field(
        None, ge=1, description="Take a checkpoint every so many steps."
    )
    checkpoint_minutes: float | None = Field(
        10.0, gt=0, description="Take a checkpoint every so many minutes."
    )
    compare_steps: int = Field(
        100, ge=1, description="Compare the weights of all replicas every so many steps."
    )
    allow_zero_loss: bool = Field(
        default=False, description="Go on when the loss of a batch is exactly 0."
    )
    allow_exploding_loss: bool = Field(
        default=False,
        description="Go on when the loss of a batch is a million times that of the first.",
    )
    keep_checkpoints: int = Field(2, ge=1, le=1000, description="How many checkpoints stay.")
    cache: Cache = None
    cache_bytes: CacheBytes = "20GiB"
    patience_seconds: Patience = 300.0
    threads: Threads = 0

    @field_validator("cache_bytes")
    @classmethod
    def _is_size(cls, value: str) -> str:
        parse_bytes(value)
        return value

    @model_validator(mode="after")
    def _callbacks_can_be_called(self) -> RunSettings:
        if self.callbacks is None and (self.callback_arg or self.stateless_callbacks):
            raise ValueError(
                "--callback-arg and --stateless-callbacks are for --callbacks: give it"
            )
        if self.callbacks is not None and self.keras == "legacy":
            raise ValueError(
                "--callbacks are those of Keras 3, which --keras legacy cannot call: leave one out"
            )
        return self


class _OfOneRun(Settings):
    run: Annotated[str, Positional("RUN")] = Field(
        description="A training run: its folder or manifest."
    )


class EvaluateSettings(Settings):
    """`evaluate`: score a run on shards."""

    run: Annotated[str, Positional("RUN")] = Field(
        "",
        description="A training run: its folder or manifest. With --follow, below a launcher, the"
        " one that it runs.",
    )
    follow: bool = Field(
        default=False,
        description="Score each checkpoint as it comes, until the run is committed; --shards,"
        " --model, --model-arg and --keras are those of the training.",
    )
    model: str | None = Field(
        None,
        description="The model function, when the model is not of Keras's own classes alone: as it"
        " was given to `run`. It has to be the file that was trained.",
    )
    model_arg: ModelArguments = Field(default_factory=dict)
    keras: Annotated[Literal["3", "legacy"], BeforeValidator(_as_text)] = Field(
        "3", description="(--follow) What the model is made with, as for `run`."
    )
    shards: str | None = Field(
        None, description="Another shards run to score on. Default: the one it was trained on."
    )
    split: tuple[str, ...] = Field(
        (), description="Splits to score; may be repeated. Default: all but train."
    )
    batch_size: int = Field(64, ge=1, le=1_000_000, description="Records of a batch.")
    cache: Cache = None
    cache_bytes: CacheBytes = "20GiB"
    patience_seconds: Patience = 300.0
    threads: Threads = 0

    @field_validator("cache_bytes")
    @classmethod
    def _is_size(cls, value: str) -> str:
        parse_bytes(value)
        return value

    @model_validator(mode="after")
    def _is_followed_or_finished(self) -> EvaluateSettings:
        if self.follow and self.shards is None:
            raise ValueError("--follow needs --shards: a run that is not committed names none")
        if not self.follow and not self.run:
            raise ValueError("RUN is required: give it on the command line")
        if not self.follow and (self.model_arg or self.keras != "3"):
            raise ValueError("--model-arg and --keras are for --follow: a committed run says both")
        return self


class ExportSettings(_OfOneRun):
    """`export`: the model, for use elsewhere."""

    to: str = Field(description="Folder to write into; made when it is missing.")
    format: Literal["keras", "saved-model"] = Field(
        "keras", description="A .keras file, or a SavedModel folder for serving."
    )


class InspectSettings(_OfOneRun):
    """`inspect`: what a run is, or how far."""


class VerifySettings(_OfOneRun):
    """`verify`: read all of a run again."""

    inputs: bool = Field(
        default=True,
        description="Look for the shards too, and compare what their manifest says.",
    )


class _OfARoot(Settings):
    root: Annotated[str, Positional("ROOT")] = Field(
        description="Folder that holds recordings/, features/, shards/ and runs/."
    )


class ListSettings(_OfARoot):
    """`list`: the runs under a root."""


class GcSettings(_OfARoot):
    """`gc`: what nothing needs any more."""

    delete: bool = Field(default=False, description="Remove what is found.")
    dry_run: bool = Field(
        default=False, description="Only show what is found; so it is without --delete."
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
