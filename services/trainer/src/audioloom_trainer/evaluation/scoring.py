"""Score splits with a model, on all replicas or in this process alone; every record once."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

import keras
import numpy as np
import structlog
import tensorflow as tf
from numpy.typing import NDArray

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.consensus import sum_over_workers
from audioloom_trainer.distributed.peer_failures import translate_peer_failures
from audioloom_trainer.distributed.steps import Outcome, make_evaluation_block
from audioloom_trainer.distributed.strategy import Gang
from audioloom_trainer.errors import LossExploded, NotFinite, NotProbabilities, WrongCount
from audioloom_trainer.evaluation.scores import Accumulator
from audioloom_trainer.evaluation.split_scores import SplitEvaluation
from audioloom_trainer.input.batches import (
    Batch,
    BatchReader,
    Replicas,
    needed_shards,
    shares,
    steps_of,
)
from audioloom_trainer.input.cache import open_cache
from audioloom_trainer.input.dataset import BatchStream
from audioloom_trainer.input.sampler import Shuffle
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.runs.stopwatch import Stopwatch
from audioloom_trainer.settings import EvaluateSettings
from audioloom_trainer.shards.shard_set import ShardSet, Split

log = structlog.get_logger()


@dataclass
class Scoring:
    """A model, built and compiled under the strategy of its gang, and the shards that it reads."""

    gang: Gang
    model: keras.Model
    staging: Staging
    batch: int
    """Records of a global batch."""
    block: int = 1
    """Steps that are done at a time; equal on all workers."""
    loss_limit: float | None = None
    """What the loss of a batch may be, as soon as a training knows it."""
    watch: Stopwatch = field(default_factory=Stopwatch)

    def __post_init__(self) -> None:
        self.shard_set = self.staging.shard_set
        self._failure: BaseException | None = None
        self._traced = False
        self._evaluate = make_evaluation_block(
            self.gang.strategy, self.model, self.gang.replicas, self.shard_set.classes
        )

    def evaluate(self, split: Split) -> SplitEvaluation:
        """Score a split on all workers together."""
        total, replicas, cluster = split.layout.total, self.gang.replicas, self.gang.cluster
        counts = Accumulator(self.shard_set.classes or 0)
        loss, done, steps = 0.0, 0, steps_of(total, self.batch)
        with self.watch.during("evaluation"):
            self.model.reset_metrics()
            batches = self.stream(split, None, 0)
            while done < steps:
                k = min(self.block, steps - done)
                part = "evaluation" if self._traced else "tracing"  # by TensorFlow, in block 1
                with self.watch.during(part), self.watched(f"while {split.name!r} was evaluated"):
                    outcome, answers = self._evaluate(batches, k)
                self._traced = True
                sizes = self.check(outcome, split, done, f"the evaluation of {split.name!r}")
                loss += float(np.dot(outcome.losses.astype(np.float64), sizes))
                if counts.classes:
                    read = [
                        positions  # in the order of the answers
                        for step in range(done, done + k)
                        for positions in shares(split, replicas, batch=self.batch, step=step)
                    ]
                    counts.add(np.concatenate(read), answers)
                done += k
            scores = {"loss": loss / total, **self.metrics()}
            self.model.reset_metrics()
            if cluster.size > 1 and counts.classes:
                with self.watched("while the answers were added up"):
                    whole = sum_over_workers(self.gang, counts.parts(cluster.rank, cluster.size))
                counts = Accumulator.whole(counts.classes, whole)
        return SplitEvaluation(scores, counts)

    def check(self, outcome: Outcome, split: Split, start: int, where: str) -> NDArray[np.float64]:
        """Check the counts of a block against the reading order; return its batch sizes."""
        steps = np.arange(start, start + len(outcome.counts))
        left = split.layout.total - steps * self.batch
        sizes = np.minimum(self.batch, left).astype(np.float64)

        def at(step: int) -> str:
            return f"step {start + step + 1} of {where}"

        if len(bad := np.flatnonzero(outcome.counts != sizes)):
            raise WrongCount(
                where=at(bad[0]),
                expected=f"{int(sizes[bad[0]])} records in the global batch",
                found=f"{outcome.counts[bad[0]]:g}",
                hint="The workers did not read the same shards.",
            )
        if len(bad := np.flatnonzero(~np.isfinite(outcome.losses))):
            raise NotFinite(
                where=at(bad[0]),
                expected="a finite loss",
                found=f"{outcome.losses[bad[0]]}",
                hint="Lower the learning rate or clip gradients in the model function, and look"
                " for features that are not finite (audioloom-featurizer verify).",
            )
        if len(bad := np.flatnonzero(outcome.improper)):
            raise NotProbabilities(
                where=at(bad[0]),
                expected="outputs from 0 to 1, which add up to 1 over the classes, as the loss"
                " wants them",
                found=f"others, for {outcome.improper[bad[0]]:g} of {sizes[bad[0]]:g} records",
                hint="Give the loss from_logits=True, or end the network with a softmax (a sigmoid"
                " for one output).",
            )
        limit = self.loss_limit
        if limit is not None and len(bad := np.flatnonzero(np.abs(outcome.losses) > limit)):
            raise LossExploded(
                where=at(bad[0]),
                expected=f"a loss below {limit:.3g}, a million times what it was at first",
                found=f"{outcome.losses[bad[0]]:.3g}",
                hint="Lower the learning rate or clip gradients in the model function. If it is as"
                " it should be, give --allow-exploding-loss.",
            )
        return sizes

    def metrics(self) -> dict[str, float]:
        """Return the finite metrics of the model over all workers; JSON has no NaN or infinity."""
        with self.watched("while the metrics were added up"):
            found = self.model.get_metrics_result()
        values = {name: float(value) for name, value in found.items() if name != "loss"}
        if missing := [name for name, value in values.items() if not np.isfinite(value)]:
            log.warning("metrics that are not finite are left out", metrics=missing)
        return {name: value for name, value in values.items() if name not in missing}

    def stream(
        self,
        split: Split,
        shuffle: Shuffle | None,
        start: int,
        produced: deque[float] | None = None,
    ) -> BatchStream:
        """Make a stream of this process's batches of a split, from step *start* on.

        Append to *produced* when each batch was ready, in seconds of `time.monotonic`.
        """
        reader = BatchReader(split, shuffle, self.batch, self.gang.replicas, self.staging)

        def batches() -> Iterator[Batch]:
            try:
                for batch in reader.batches(start):
                    if produced is not None:
                        produced.append(time.monotonic())
                    yield batch
            except GeneratorExit:  # the reader has stopped, which is no failure
                raise
            except BaseException as error:
                self._failure = error  # TensorFlow passes on only its text
                raise

        steps = steps_of(split.layout.total, self.batch) - start
        return BatchStream(batches(), steps, self.shard_set)

    @contextmanager
    def watched(self, when: str) -> Iterator[None]:
        """Replace a TensorFlow error by its cause: an error of our input, or a lost peer."""
        try:
            with translate_peer_failures(self.gang.cluster, when):
                yield
        except Exception as error:
            if self._failure is not None:
                raise self._failure from error
            raise


@contextmanager
def local_scoring(
    settings: EvaluateSettings,
    model: keras.Model,
    shard_set: ShardSet,
    splits: Sequence[Split],
    *,
    again: bool = False,
) -> Iterator[Scoring]:
    """Make a `Scoring` for this process alone, with staging of the shards ahead of need.

    The splits are scored in that order. The weights may change between two rounds of scoring: with
    *again* shards are kept for the next one if the cache has room.
    """
    alone, batch = Replicas(), settings.batch_size
    once = [shard for split in splits for shard in needed_shards(split, None, alone, batch=batch)]
    needed = cycle(once) if again else once
    with (
        open_cache(shard_set, settings.cache, settings.cache_bytes) as cache,
        Staging(shard_set, needed, cache=cache) as staging,
    ):
        gang = Gang(tf.distribute.get_strategy(), Cluster(), alone)
        yield Scoring(gang, model, staging, batch=batch)
