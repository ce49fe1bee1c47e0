"""What ends a training run before its end.

* BadData (65)
  - ShardMismatch      a shard or its index is not what the manifest says
  - UnreadableFormat   the shards are in a format for other programs
  - UnknownLabel       a record's class number is outside the vocabulary
  - MissingSplit       the shards have no split of the name that is needed
  - NotFinite          the loss became NaN or infinite, with the step
  - LossExploded       the loss became a million times what it was at first, with the step
  - ZeroLoss           the loss of a training step was exactly 0, with the step
  - WrongCount         a step saw another number of records than it must, with the step
  - DamagedRun         a committed run cannot be used: its model does not fit its weights
* BadConfiguration (78)
  - BadCluster         TF_CONFIG is not what this program can work with
  - BadReplicas        the number of replicas does not divide the lanes of the training split
  - BadModel           the model function, or what it returned, cannot be trained exactly
  - NotProbabilities   the model's outputs are none, and its loss wants some
  - BadCallbacks       the callbacks cannot be called, or not carried through a restart
  - CacheTooSmall      the cache cannot hold what has to be read together
  - TensorFlowMissing  TensorFlow is not installed in this environment
  - KerasMissing       tf_keras is not, and --keras legacy asks for it
* TryAgain (75)
  - PeerLost           another worker is gone, frozen or out of reach
  - DiskFull           the disk of the cache had no room for a shard, for as long as was waited
  - PeersDisagree      the workers were not started for the same run, or their weights differ
  - Stopped            the process was told to end; a checkpoint was saved if there was time
* NameTaken (73)
  - RunTaken           the run folder holds checkpoints of another recipe

The numbers are the exit codes, from the one table in audioloom_stage.
"""

from collections.abc import Mapping

from audioloom_stage import BadConfiguration, BadData, NameTaken, TryAgain, redact


class ShardMismatch(BadData):
    """A shard or its index is not what the manifest says."""


class UnreadableFormat(BadData):
    """The shards are in a format for other programs."""


class UnknownLabel(BadData):
    """A record's class number is outside the vocabulary of the manifest."""


class MissingSplit(BadData):
    """The shards have no split of the name that is needed."""


class NotFinite(BadData):
    """The loss became NaN or infinite."""


class LossExploded(BadData):
    """The loss became a million times what it was at first."""


class ZeroLoss(BadData):
    """The loss of a training step was exactly 0."""


class WrongCount(BadData):
    """A step saw another number of records than the manifest and the order give it."""


class DamagedRun(BadData):
    """A committed run cannot be used: its model does not fit its weights."""


class BadCluster(BadConfiguration):
    """TF_CONFIG is not what this program can work with."""


class BadReplicas(BadConfiguration):
    """The number of replicas does not divide the lanes of the training split."""


class BadModel(BadConfiguration):
    """The model function, or what it returned, cannot be trained exactly."""


class NotProbabilities(BadConfiguration):
    """The model's outputs are no probabilities, and its loss wants some."""


class BadCallbacks(BadConfiguration):
    """The callbacks cannot be called, or not carried through a restart."""


class CacheTooSmall(BadConfiguration):
    """The cache cannot hold the shards that have to be read together."""


class TensorFlowMissing(BadConfiguration):
    """TensorFlow is not installed in this environment."""


class KerasMissing(BadConfiguration):
    """The older Keras, tf_keras, is not installed in this environment."""


class PeerLost(TryAgain):
    """Another worker is gone, frozen or out of reach.

    Args:
        lost: who, by rank and address; empty where it cannot be known.
    """

    def __init__(
        self, summary: str, *, lost: Mapping[int, str], found: str = "", hint: str = ""
    ) -> None:
        super().__init__(summary, found=found, hint=hint)
        self.lost = dict(lost)


class DiskFull(TryAgain):
    """The disk of the cache had no room for a shard, for as long as was waited."""


class PeersDisagree(TryAgain):
    """The workers were not started for the same run, or their weights differ."""


class Stopped(TryAgain):
    """The process was told to end."""


class RunTaken(NameTaken):
    """The run folder holds checkpoints of another recipe."""


def describe_error(error: BaseException, limit: int = 500) -> str:
    """What the user's own code, or a library, said: its type and text on one line, bounded."""
    text = redact(" ".join(f"{type(error).__name__}: {error}".split()))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
