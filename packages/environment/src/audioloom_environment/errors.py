"""Errors of building and packing an environment.

* BadConfiguration (audioloom_stage, exit code 78)
  - NotAnEnvironment       no Python environment lies there, or one of another kind
  - NotRelocatable         something in it works at this place only; it is named
  - PackingFailed          a tool failed on the interpreter
  - CannotBuild            an environment cannot be built from that
* InputMissing (audioloom_stage, exit code 66)
  - IngredientMissing      a file or folder to build from is not there
* TryAgain (audioloom_stage, exit code 75)
  - ChangedWhilePacking    a file is not what it was when the digest was taken
"""

from audioloom_stage import BadConfiguration, InputMissing, TryAgain


class NotAnEnvironment(BadConfiguration):
    """No Python environment lies there, or one of a kind that is packed by other means."""


class NotRelocatable(BadConfiguration):
    """A part of the environment would not work in another place."""


class PackingFailed(BadConfiguration):
    """A tool failed on the interpreter."""


class CannotBuild(BadConfiguration):
    """An environment cannot be built from these ingredients."""


class IngredientMissing(InputMissing):
    """A file or a folder that an environment is to be built from is not there."""


class ChangedWhilePacking(TryAgain):
    """A file has changed since the digest was taken."""
