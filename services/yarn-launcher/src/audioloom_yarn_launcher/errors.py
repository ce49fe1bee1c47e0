"""What can go wrong in the launcher itself. What goes wrong in a worker is a `Cause`.

* StoreLost       (ConnectionError)        the other end of the gang's key-value store is gone
* StageError
  - NoCommand     (stage: Usage)           there is nothing to run, or no such program
  - OtherCommand  (stage: NameTaken)       the run of that name belongs to another command
  - Busy          (stage: TryAgain)        another launcher is at work on this run
  - OwnerUnknown  (stage: TryAgain)        nobody here can tell whether the other launcher lives
  - NoRun         (stage: InputMissing)    no run lies there
  - BadRecord     (stage: BadData)         a record of a run cannot be read
"""

from __future__ import annotations

from audioloom_stage import BadData, InputMissing, NameTaken, TryAgain, Usage


class StoreLost(ConnectionError):
    """The store cannot be reached any more: a worker that sees this is alone and ends."""


class NoCommand(Usage):
    """There is nothing to run, or no such program."""


class OtherCommand(NameTaken):
    """The run of that name belongs to another command. Nothing was touched."""


class Busy(TryAgain):
    """Another launcher is at work on this run."""


class OwnerUnknown(TryAgain):
    """Another launcher began this run and did not end it, and nobody here can tell if it lives."""


class NoRun(InputMissing):
    """No run lies there."""


class BadRecord(BadData):
    """A record of a run cannot be read."""
