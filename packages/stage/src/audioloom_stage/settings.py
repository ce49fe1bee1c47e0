"""The words a stage declares its settings with.

A command's settings are one frozen pydantic model. Each field is at once a flag, an environment
variable and a key of the TOML file; a positional argument is given on the command line alone:

    class RunSettings(Settings):
        groups: ClassVar = {"Shards": "lanes shard_bytes"}

        features: Annotated[str, Positional("FEATURES")] = Field(description="The manifest.")
        lanes: int = Field(24, ge=1, description="Lanes of an epoch.")
        shard_bytes: Size = Field(Size(128 << 20), description="Target size of a shard.")
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pydantic import BaseModel, ConfigDict, SecretStr
from pydantic_core import core_schema

from audioloom_stage.redaction import MASK, remember


class Settings(BaseModel):
    """Base of every command's settings: frozen, and no field that was not declared.

    Validators are built at first use: `--help` of eight commands must not pay for them.

    Attributes:
        groups: the headings of the help page, each with the fields below it. A group of a base
            class comes after those of the class; fields of no group stand first.
    """

    groups: ClassVar[dict[str, str]] = {}

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


@dataclass(frozen=True)
class Positional:
    """Marks a field that is given by its place on the command line instead of by a flag.

    It has no variable and no key of the TOML file. A tuple or list field takes all the places
    that are left, and must come last. The help calls it *metavar*, by default its name.
    """

    metavar: str = ""


@dataclass(frozen=True)
class Flag:
    """Gives a field's flag a short form, a dash and a letter: `-f`."""

    short: str


class Secret(SecretStr):
    """A password or token: shown as stars, written nowhere.

    It has a variable and a TOML key and no flag, because every user of the machine sees command
    lines. `get_secret_value()` answers the text. Every form of dumping gives stars, and pickling
    is refused, so that a secret cannot travel into a manifest, a log or a Spark task unnoticed.
    Where another program's message holds its text, that is masked, too.
    """

    def __init__(self, secret_value: str) -> None:
        super().__init__(secret_value)
        remember(secret_value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value),
            core_schema.union_schema(
                [core_schema.is_instance_schema(cls), core_schema.str_schema(strict=True)],
                mode="left_to_right",
            ),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda _: MASK),
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled: hand over the one thing that is made with it")

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Secret":
        return self
