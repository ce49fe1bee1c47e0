"""The errors that stop the featurizer; the base class decides the exit code."""

from audioloom_stage.errors import BadConfiguration, BadData, InputMissing, TryAgain, Usage


class PatternMatchesNothing(BadData):
    """The pattern matches no path of the listing."""


class BadTarget(BadData):
    """The group `target` of a pattern caught text that is not a number."""


class DuplicateRecording(BadData):
    """An inventory names a recording twice."""


class BadLabels(BadData):
    """Labels contradict each other, or match no recording."""


class Unlabelled(BadData):
    """Recordings have no label, and --unlabelled refuse was given. Nothing was committed."""


class BadInventory(BadData):
    """An inventory does not match its manifest."""


class BadUnits(BadData):
    """The units in the run folder are not those of this inventory and this recipe."""


class TooManyRefused(BadData):
    """More recordings were refused than the error budget allows. Nothing was committed."""


class NothingReadable(BadData):
    """Every recording was refused. Nothing was committed."""


class Damaged(BadData):
    """A run does not match its manifest."""


class NoRecordings(InputMissing):
    """The folder holds no recordings."""


class NothingNew(InputMissing):
    """Every recording is listed already. Nothing was committed."""


class BadPattern(Usage):
    """The pattern is not a regular expression, or has unknown named groups."""


class InvalidOption(Usage):
    """An option has an unusable value, or contradicts another option."""


class MissingLibrary(BadConfiguration):
    """A decoder or an engine is not installed; the recordings may be fine."""


class WorkerLost(TryAgain):
    """The worker that decodes died more than once while it was at no recording."""


class MissingDriver(BadConfiguration):
    """No jar has a driver for the database."""
