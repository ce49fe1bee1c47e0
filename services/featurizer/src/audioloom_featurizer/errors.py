"""The errors that stop the featurizer; the base class decides the exit code."""

from audioloom_stage.errors import BadConfiguration, BadData, InputMissing, TryAgain, Usage


class DuplicateRecording(BadData):
    """An inventory names a recording twice."""


class BadLabels(BadData):
    """Labels contradict each other, match no recording, are too long, or no numbers as targets."""


class Unlabelled(BadData):
    """Recordings or windows have no label, and none may be without. Nothing was committed."""


class BadWindows(BadData):
    """A table of windows has values of several shapes, no numbers, or a window twice."""


class BadInventory(BadData):
    """An inventory does not match its manifest, or the units of a run its inventory."""


class TooManyRefused(BadData):
    """More recordings were refused than the error budget allows. Nothing was committed."""


class NothingReadable(BadData):
    """Every recording was refused. Nothing was committed."""


class Disagreement(BadData):
    """Values are further from librosa's than the contract allows. Nothing was committed."""


class Damaged(BadData):
    """A run does not match its manifest."""


class NoRecordings(InputMissing):
    """The folder holds no recordings."""


class NoWindows(InputMissing):
    """A table of windows has no rows."""


class NothingNew(InputMissing):
    """Every recording is listed already. Nothing was committed."""


class InvalidOption(Usage):
    """An option has an unusable value, or contradicts another option."""


class MissingLibrary(BadConfiguration):
    """A decoder, an engine or a driver is not installed; the recordings may be fine."""


class WorkerLost(TryAgain):
    """The worker that decodes died more than once while it was at no recording."""
