"""Errors of building and packing an environment; the base of each gives its exit code."""

from audioloom_stage.errors import BadConfiguration, InputMissing, TryAgain


class NotAnEnvironment(BadConfiguration):
    """No Python environment lies there, or one of a kind that is packed by other means."""


class NotRelocatable(BadConfiguration):
    """A part of the environment, which is named, would not work in another place."""


class PackingFailed(BadConfiguration):
    """A tool failed on the interpreter."""


class CannotBuild(BadConfiguration):
    """An environment cannot be built from these ingredients."""


class IngredientMissing(InputMissing):
    """A file or a folder that an environment is to be built from is not there."""


class ChangedWhilePacking(TryAgain):
    """A file has changed since the digest was taken."""
