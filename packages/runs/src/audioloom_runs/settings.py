"""Settings that commands of every stage share: the name of a run, the root, `list` and `gc`."""

from typing import Annotated, Self

from audioloom_stage.settings import Settings
from audioloom_stage.units import Duration
from pydantic import Field, model_validator

RunName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
"""The name of a run, which is the name of its folder: the rule of the contract."""


class RootSettings(Settings):
    """Settings of a command that looks at all runs under a root."""

    root: str = Field(description="Root folder of all runs: a path or a URI.")


class CheckSettings(Settings):
    """Settings of `doctor`."""

    root: str | None = Field(None, description="Root folder of all runs to check: a path or URI.")


class ListSettings(RootSettings):
    """Settings of `list`."""


class GcSettings(RootSettings):
    """Settings of `gc`: without --delete nothing is deleted."""

    older_than: Duration = Field(
        Duration(86400), ge=0, description="Keep files that changed more recently than this."
    )
    dry_run: bool = Field(default=False, description="Show what would be deleted (the default).")
    delete: bool = Field(default=False, description="Delete what is found.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.delete and self.dry_run:
            raise ValueError("--delete and --dry-run exclude each other: give one")
        return self
