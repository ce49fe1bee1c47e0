"""Errors that end a command of the sharder: BadData with exit code 65, Usage with exit code 2.

A split table that cannot be read is `audioloom_manifest.tables.BadTable` (exit code 65).
"""

from audioloom_manifest.errors import RecordError
from audioloom_stage.errors import BadData, TryAgain, Usage


class DamagedRecord(BadData, RecordError):
    """A record, index or file is damaged."""


class BadFeatures(BadData):
    """Features cannot become shards: other recipes, no label, windows twice, torn groups."""


class DamagedShards(BadData):
    """The shards differ from their manifest."""


class DiskFull(TryAgain):
    """The local disk had no room for the records of a unit."""


class InvalidOption(Usage):
    """The options for splits are invalid or contradict each other."""
