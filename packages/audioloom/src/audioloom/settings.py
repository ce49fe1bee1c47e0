"""The settings of each command: flags, AUDIOLOOM_CLIENT_* variables, keys of [client]."""

from typing import Annotated

from audioloom_stage.settings import Positional, Settings
from pydantic import Field


class SiteSettings(Settings):
    """Settings of `site`."""

    root: Annotated[str, Positional("ROOT")] = Field(
        description="Root folder of all runs: a path or a URI."
    )
    to: str = Field(
        description="New folder for the site; a folder with an earlier site is replaced."
    )


class DiffSettings(Settings):
    """Settings of `diff`."""

    first: Annotated[str, Positional("RUN_A")] = Field(
        description="Finished run: its folder or manifest."
    )
    second: Annotated[str, Positional("RUN_B")] = Field(
        description="Another finished run of the same stage."
    )
