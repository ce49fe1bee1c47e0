"""What stops the featurizer.

* BadData (exit code 65)
  - PatternMatchesNothing   no path of the listing is what the pattern describes
  - BadTarget               the group `target` of a pattern caught something that is no number
  - BadTable                a table from outside that cannot be read, or has a bad row
  - TwiceListed             an inventory names a recording twice
  - BadLabels               labels that contradict each other, or match no recording
  - Unlabelled              recordings without a label, and they were to be refused
  - BadInventory            an inventory that is not what its manifest says
  - BadUnits                the units in the run folder are not those of this inventory
  - TooManyRefused          more recordings were refused than the error budget allows
  - NothingReadable         every recording was refused
  - Damaged                 `verify` found a run that is not what its manifest says
* InputMissing (exit code 66)
  - NoRecordings            the folder holds no recordings
  - NothingNew              the folder holds none that are not listed already
* Usage (exit code 2)
  - BadPattern              the pattern is no regular expression, or names nothing we know
  - BadWish                 an amount, a budget or a combination of flags that says nothing
* BadConfiguration (exit code 78)
  - MissingLibrary          a decoder or an engine is not installed here
  - NoDriver                no jar of a driver for the database
* TryAgain (exit code 75)
  - WorkerLost              the process that decodes died while it was at no recording
"""

from __future__ import annotations

from audioloom_stage.errors import BadConfiguration, BadData, InputMissing, TryAgain, Usage


class PatternMatchesNothing(BadData):
    """No path of the listing is what the pattern describes."""


class BadTarget(BadData):
    """The group `target` of a pattern caught something that is no number."""


class BadTable(BadData):
    """A table from outside that cannot be read, or has a bad row."""


class TwiceListed(BadData):
    """An inventory names a recording twice."""


class BadLabels(BadData):
    """Labels that contradict each other, or match no recording."""


class Unlabelled(BadData):
    """Recordings have no label, and were to be refused then. Nothing was committed."""


class BadInventory(BadData):
    """An inventory that is not what its manifest says."""


class BadUnits(BadData):
    """The units in the run folder are not those of this inventory and this recipe."""


class TooManyRefused(BadData):
    """More recordings were refused than the error budget allows. Nothing was committed."""


class NothingReadable(BadData):
    """Every recording was refused. Nothing was committed."""


class Damaged(BadData):
    """A run is not what its manifest says."""


class NoRecordings(InputMissing):
    """The folder holds no recordings."""


class NothingNew(InputMissing):
    """All recordings are listed already. Nothing was committed."""


class BadPattern(Usage):
    """The pattern is no regular expression, or names nothing we know."""


class BadWish(Usage):
    """An amount, a budget or a combination of flags that says nothing."""


class MissingLibrary(BadConfiguration):
    """A decoder or an engine is not installed here; the recordings may be fine."""


class WorkerLost(TryAgain):
    """The process that decodes died, more than once, while it was at no recording."""


class NoDriver(BadConfiguration):
    """No jar of a driver for the database."""
