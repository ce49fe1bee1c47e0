"""Errors that end a command of the sharder.

* BadData (of audioloom_stage: exit code 65)
  - DamagedRecord      bytes that are not the record, index or file they should be
  - BadFeatures        features that cannot become shards: no label, no group, a wrong size
  - DuplicateRecord    one window of a recording occurs twice
  - EmptySplit         no group falls into a requested split
  - MixedInputs        features manifests made by different recipes
  - DamagedShards      shards that differ from their manifest
  - TornGroup          a pattern or a table puts one group into two splits
* Usage (exit code 2)
  - InvalidOption      the options for splits make no sense

A split table that cannot be read is `audioloom_manifest.tables.BadTable` (exit code 65).
"""

from audioloom_manifest.errors import RecordError
from audioloom_stage.errors import BadData, Usage


class DamagedRecord(BadData, RecordError):
    """Bytes that are not the record, index or file they should be."""


class BadFeatures(BadData):
    """Features that cannot become shards: no label, no group, a wrong size."""


class DuplicateRecord(BadData):
    """One window of a recording occurs twice."""


class EmptySplit(BadData):
    """No group falls into a requested split."""


class MixedInputs(BadData):
    """The features manifests were made by different recipes."""


class DamagedShards(BadData):
    """The shards differ from their manifest."""


class TornGroup(BadData):
    """A pattern or a table puts one group into two splits."""


class InvalidOption(Usage):
    """The options for splits make no sense."""
