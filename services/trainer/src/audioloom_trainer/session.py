"""One training under a strategy: epochs in blocks, validation, checkpoints, tripwires.

Every worker runs the same session in step: what depends on time or on a signal is decided in the
sum at the end of a block, so that all decide alike.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import structlog
from audioloom_stage import Progress
from numpy.typing import NDArray

from audioloom_trainer.agreement import agree
from audioloom_trainer.checkpoint import Saver
from audioloom_trainer.cluster import Cluster
from audioloom_trainer.errors import NotFinite, Stopped, WrongCount
from audioloom_trainer.failures import peers_watched
from audioloom_trainer.feed import Batch, Feed, Replicas, steps_of
from audioloom_trainer.loop import Outcome, make_evaluation_block, make_train_block, stream
from audioloom_trainer.order import Shuffle
from audioloom_trainer.progress import ProgressFile
from audioloom_trainer.schedule import Place, Schedule
from audioloom_trainer.shards import ShardSet, Split
from audioloom_trainer.staging import Staging
from audioloom_trainer.state import snapshot, weights
from audioloom_trainer.stopping import StopRequest

__all__ = ["Evaluated", "Session"]

log = structlog.get_logger()

_MOST_STEPS = 16
_BLOCK_SECONDS = 1.0


@dataclass(frozen=True)
class Evaluated:
    """What a split was scored."""

    scores: dict[str, float]
    """Loss and the model's metrics."""
    confusion: NDArray[np.int64]
    """(true class, predicted class); (0, 0) where numbers are learned."""


@dataclass
class Session:
    """A training under way.

    Args:
        strategy, model: built, compiled, and restored to `place`.
        cluster, replicas: who trains, and which replicas are here.
        shard_set, staging: what is read.
        schedule: how.
        saver: takes checkpoints; only the chief's writes.
        progress: the worker's progress file.
        bar: what is shown to people.
        stop: whether the process was told to end.
        place: where it stands.
    """

    strategy: Any
    model: keras.Model
    cluster: Cluster
    replicas: Replicas
    shard_set: ShardSet
    staging: Staging
    schedule: Schedule
    saver: Saver
    progress: ProgressFile
    bar: Progress
    stop: StopRequest
    place: Place

    def __post_init__(self) -> None:
        self._train = make_train_block(self.strategy, self.model, self.replicas)
        self._evaluate = make_evaluation_block(
            self.strategy, self.model, self.replicas, self.shard_set.classes
        )
        self._steps = steps_of(self._split.layout.total, self.schedule.batch_size)
        self._block = self._wanted_block = 1
        self._saved_at = time.monotonic()
        self._failure: BaseException | None = None

    def run(self) -> dict[str, Evaluated]:
        """Train to the end and score every split that was not trained on.

        Raises:
            Stopped: told to end; a checkpoint of the last step was taken.
            NotFinite, WrongCount, PeerLost, PeersDisagree, and what staging raises.
        """
        while self.place.epoch < self.schedule.epochs:
            self._run_epoch()
            self._close_epoch(last=self.place.epoch + 1 == self.schedule.epochs)
        self.model.optimizer.finalize_variable_values(self.model.trainable_variables)
        splits = sorted(self.shard_set.splits.keys() - {"train"})
        evaluated = {name: self.evaluate(self.shard_set.split(name)) for name in splits}
        if "val" in evaluated and self.place.history:
            self.place.history[-1].update(_prefixed(evaluated["val"].scores))
        return evaluated

    def evaluate(self, split: Split) -> Evaluated:
        """Score a split, on all workers together."""
        total, batch = split.layout.total, self.schedule.batch_size
        self.model.reset_metrics()
        iterator = self._stream(split, None, 0)
        confusion = np.zeros((self.shard_set.classes or 0,) * 2, np.int64)
        loss, done, steps = 0.0, 0, steps_of(total, batch)
        while done < steps:
            k = min(self._block, steps - done)
            with self._watched(f"while {split.name!r} was evaluated"):
                outcome, matrix = self._evaluate(iterator, k)
            sizes = self._check(outcome, split, done, f"the evaluation of {split.name!r}")
            loss += float(np.dot(outcome.losses.astype(np.float64), sizes))
            confusion += np.rint(matrix).astype(np.int64)
            done += k
        scores = {"loss": loss / total, **self._metrics()}
        self.model.reset_metrics()
        return Evaluated(scores, confusion)

    @property
    def _split(self) -> Split:
        return self.shard_set.split("train")

    @property
    def _global_step(self) -> int:
        return self.place.epoch * self._steps + self.place.step

    def _run_epoch(self) -> None:
        place = self.place
        if place.step == self._steps:  # resumed from the last step of an epoch
            return
        iterator = self._stream(self._split, self.schedule.shuffle(place.epoch), place.step)
        while place.step < self._steps:
            k = self._next_block()
            started = time.monotonic()
            signals = [float(self.stop.told), *self._chiefs_signals()]
            with self._watched(f"at step {self._global_step + 1}"):
                outcome = self._train(iterator, k, signals)
            sizes = self._check(outcome, self._split, place.step, f"epoch {place.epoch + 1}")
            place.loss += float(np.dot(outcome.losses.astype(np.float64), sizes))
            place.records += int(sizes.sum())
            place.step += k
            self._tell(k, time.monotonic() - started, float(outcome.losses[-1]))
            self._act_on(outcome.signals)

    def _close_epoch(self, *, last: bool) -> None:
        place = self.place
        entry = {"loss": place.loss / place.records, **self._metrics()}
        self.model.reset_metrics()
        self._compare_weights()
        if "val" in self.shard_set.splits and not last:
            entry.update(_prefixed(self.evaluate(self.shard_set.split("val")).scores))
        place.history.append({"epoch": place.epoch + 1, **entry})
        log.info("epoch", **{key: round(value, 4) for key, value in place.history[-1].items()})
        self.progress.event("epoch", step=self._global_step, **place.history[-1])
        place.epoch, place.step, place.loss, place.records = place.epoch + 1, 0, 0.0, 0
        if last:  # what follows may take long: never train again for it
            self._save()

    def _next_block(self) -> int:
        """Steps until the next place where something else happens, at most those of a block."""
        k = min(self._block, self._steps - self.place.step)
        if self.schedule.checkpoint_steps:
            every = self.schedule.checkpoint_steps
            k = min(k, every - self._global_step % every)
        return k

    def _chiefs_signals(self) -> tuple[float, float]:
        """Whether it is time for a checkpoint, and how long a block is: the chief decides."""
        if not self.cluster.is_chief:
            return 0.0, 0.0
        minutes = self.schedule.checkpoint_minutes
        due = minutes is not None and time.monotonic() - self._saved_at >= minutes * 60
        return float(due), float(self._wanted_block)

    def _act_on(self, signals: NDArray[Any]) -> None:
        told, due, block = signals.tolist()
        self._block = int(block)
        every = self.schedule.checkpoint_steps
        if told or due or (every and self._global_step % every == 0):
            self._save()
        if told:
            self.saver.wait()
            self.progress.event("stopped", step=self._global_step)
            raise Stopped(
                f"{int(told)} of {self.cluster.size} workers were told to end (SIGTERM)",
                found=f"a checkpoint of step {self._global_step} was saved",
                hint="The same command goes on from there.",
            )

    def _save(self) -> None:
        """Take a checkpoint: all workers read the state, for its sums are collective."""
        with self._watched(f"at the checkpoint of step {self._global_step}"):
            state = snapshot(self.model)
        self._saved_at = time.monotonic()
        if self.cluster.is_chief:
            self.saver.save(self._global_step, state, self.place.to_json())
            self.progress.event("checkpoint", step=self._global_step)

    def _tell(self, k: int, seconds: float, loss: float) -> None:
        per_step = seconds / k
        self._wanted_block = max(1, min(_MOST_STEPS, int(_BLOCK_SECONDS / max(per_step, 1e-6))))
        self.bar.advance(k)
        self.progress.step(
            step=self._global_step,
            epoch=self.place.epoch + 1,
            loss=loss,
            steps_per_second=round(1 / max(per_step, 1e-6), 3),
        )

    def _check(self, outcome: Outcome, split: Split, start: int, where: str) -> NDArray[np.float64]:
        """Hold a block against what the order says; answer the sizes of its batches."""
        batch, total = self.schedule.batch_size, split.layout.total
        steps = np.arange(start, start + len(outcome.counts))
        sizes = np.minimum(batch, total - steps * batch).astype(np.float64)
        if not np.array_equal(outcome.counts, sizes):
            wrong = int(np.flatnonzero(outcome.counts != sizes)[0])
            raise WrongCount(
                where=f"step {start + wrong + 1} of {where}",
                expected=f"{int(sizes[wrong])} records in the global batch",
                found=f"{outcome.counts[wrong]:g}",
                hint="The workers did not read the same shards.",
            )
        bad = np.flatnonzero(~np.isfinite(outcome.losses))
        if len(bad):
            raise NotFinite(
                where=f"step {start + int(bad[0]) + 1} of {where}",
                expected="a finite loss",
                found=f"{outcome.losses[bad[0]]}",
                hint="Lower the learning rate or clip gradients in the model function, and look"
                " for features that are not finite (audioloom-featurizer verify).",
            )
        return sizes

    def _metrics(self) -> dict[str, float]:
        """The model's own metrics over all workers."""
        with self._watched("while the metrics were added up"):
            found = self.model.get_metrics_result()
        return {name: float(value) for name, value in found.items() if name != "loss"}

    def _compare_weights(self) -> None:
        if self.cluster.size == 1:
            return
        found = hashlib.sha256()
        for array in weights(self.model).values():
            found.update(np.ascontiguousarray(array).tobytes())
        known = {"weights": found.hexdigest()}
        when = f"after epoch {self.place.epoch + 1}"
        agree(self.strategy, self.cluster, self.replicas, known, when)

    def _stream(self, split: Split, shuffle: Shuffle | None, start: int) -> Any:
        feed = Feed(
            self.shard_set,
            split,
            shuffle,
            batch=self.schedule.batch_size,
            replicas=self.replicas,
            staging=self.staging,
        )
        return stream(
            self._remembering(lambda: feed.batches(start)),
            self.shard_set.shape,
            self.shard_set.dtype,
            numbers=self.shard_set.classes is None,
        )

    def _remembering(self, batches: Callable[[], Iterator[Batch]]) -> Callable[[], Iterator[Batch]]:
        """TensorFlow passes on the text of an error alone: keep the error itself."""

        def remembered() -> Iterator[Batch]:
            try:
                yield from batches()
            except BaseException as error:
                self._failure = error
                raise

        return remembered

    @contextmanager
    def _watched(self, when: str) -> Iterator[None]:
        """Inside, an error is what caused it: our own input, or a lost peer."""
        try:
            with peers_watched(self.cluster, when):
                yield
        except Exception as error:
            if self._failure is not None:
                raise self._failure from error
            raise


def _prefixed(scores: dict[str, float]) -> dict[str, float]:
    return {f"val_{name}": value for name, value in scores.items()}
