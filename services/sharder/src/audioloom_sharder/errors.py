"""What the sharder cannot go on with.

* BadData (of audioloom_stage: exit code 65)
  - DamagedRecord      bytes that are not the record, index or file they should be
  - BadFeatures        features that no shards can be made of: no label, no group, a wrong size
  - DuplicateRecord    one window of a recording twice
  - EmptySplit         a split was asked for, and no group falls into it
  - MixedInputs        features manifests made by different recipes
  - DamagedShards      `verify` found shards that are not what their manifest says
  - TornGroup          one group in two splits, by a pattern or a table
  - BadTable           a table of splits that cannot be read, or says two things
* Usage (exit code 2)
  - BadSplit           the wish for splits does not say what it should
"""

from __future__ import annotations

from audioloom_stage.errors import BadData, Usage


class DamagedRecord(BadData):
    """Bytes that are not the record, index or file they should be."""


class BadFeatures(BadData):
    """Features that no shards can be made of: no label, no group, a wrong size."""


class DuplicateRecord(BadData):
    """One window of a recording occurs twice."""


class EmptySplit(BadData):
    """A split was asked for, and no group falls into it."""


class MixedInputs(BadData):
    """The features manifests were made by different recipes."""


class DamagedShards(BadData):
    """The shards are not what their manifest says."""


class TornGroup(BadData):
    """One group lies in two splits, by what a pattern or a table says."""


class BadTable(BadData):
    """A table of splits cannot be read, or says two things of one recording or group."""


class BadSplit(Usage):
    """The wish for splits does not say what it should."""
