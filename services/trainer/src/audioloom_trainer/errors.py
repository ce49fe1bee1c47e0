"""The errors that end a training run early; the base of each gives its exit code."""

from collections.abc import Mapping

from audioloom_stage.errors import BadConfiguration, BadData, TryAgain
from audioloom_stage.escapes import shortened
from audioloom_stage.redaction import redact


class ShardMismatch(BadData):
    """A shard or its index differs from the manifest."""


class UnknownLabel(BadData):
    """A record's class number is outside the vocabulary of the manifest."""


class NotFinite(BadData):
    """The loss became NaN or infinite."""


class LossExploded(BadData):
    """The loss rose a millionfold since the start."""


class ZeroLoss(BadData):
    """The loss of the first training step was exactly 0."""


class WrongCount(BadData):
    """A step saw another number of records than manifest and reading order say."""


class DamagedRun(BadData):
    """A committed run cannot be used: its model does not fit its weights."""


class BadModel(BadConfiguration):
    """The model function fails, or its model cannot be trained exactly."""


class NotProbabilities(BadConfiguration):
    """The loss takes probabilities, but the model's outputs are none."""


class BadCallbacks(BadConfiguration):
    """The callbacks cannot be called, or a restart cannot restore their state."""


class CacheTooSmall(BadConfiguration):
    """The cache cannot hold the shards that have to be read together."""


class PeerLost(TryAgain):
    """Another worker is gone, frozen or out of reach; *lost* has addresses by rank, if known."""

    def __init__(
        self, summary: str, *, lost: Mapping[int, str], found: str = "", hint: str = ""
    ) -> None:
        super().__init__(summary, found=found, hint=hint)
        self.lost = dict(lost)


class PortTaken(TryAgain):
    """Another program has the port that TF_CONFIG gives this worker."""


class DiskFull(TryAgain):
    """The disk of the cache had no room for a shard until the retry limit."""


class PeersDisagree(TryAgain):
    """The workers were started for different runs, or their weights differ."""


class Stopped(TryAgain):
    """The process received SIGTERM; a checkpoint was saved if there was time."""


def describe_error(error: BaseException, limit: int = 500) -> str:
    """Describe an error of the user's code or a library: type and text in one bounded line."""
    return shortened(redact(" ".join(f"{type(error).__name__}: {error}".split())), limit)
