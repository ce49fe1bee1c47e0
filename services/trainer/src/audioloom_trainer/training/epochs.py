"""One training under a strategy: epochs in blocks, validation, checkpoints, tripwires.

All workers run the session in lockstep. Decisions that depend on time or on a signal are made from
the sum at the end of a block, so all workers decide alike.
"""

import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import structlog
from audioloom_runs.run_times import wall_time
from audioloom_runs.scores import epoch_line
from audioloom_stage.progress_bar import Progress
from numpy.typing import NDArray

from audioloom_trainer.distributed.consensus import make_weight_digest, require_consensus
from audioloom_trainer.distributed.steps import Outcome, make_train_block
from audioloom_trainer.errors import PeersDisagree, Stopped, ZeroLoss
from audioloom_trainer.evaluation.scoring import Scoring
from audioloom_trainer.evaluation.split_scores import SplitEvaluation
from audioloom_trainer.models.state import snapshot
from audioloom_trainer.runs.checkpoint import CheckpointWriter
from audioloom_trainer.runs.progress import ProgressFile
from audioloom_trainer.runs.summaries import write_summaries
from audioloom_trainer.runs.timeline import Interval, Timeline, summed, waiting
from audioloom_trainer.runtime.retry import with_retries
from audioloom_trainer.runtime.signals import StopRequest
from audioloom_trainer.training.callbacks import Callbacks
from audioloom_trainer.training.spec import RunSpec, TrainingPosition, loss_limit, needs

log = structlog.get_logger()

_MOST_STEPS = 16
_BLOCK_SECONDS = 1.0


@dataclass
class Session:
    """A training in progress: its model and its callbacks are restored to its position.

    Only the chief writes checkpoints and summaries.
    """

    spec: RunSpec
    scoring: Scoring
    checkpoints: CheckpointWriter
    progress: ProgressFile
    bar: Progress
    stop: StopRequest
    position: TrainingPosition
    callbacks: Callbacks
    timeline: Timeline = field(default_factory=Timeline)
    evaluated: dict[str, SplitEvaluation] = field(default_factory=dict)
    """The scores of every split except the training split, once all epochs are done."""

    def __post_init__(self) -> None:
        spec, scoring = self.spec, self.scoring
        self._gang, self._model, self._watch = scoring.gang, scoring.model, scoring.watch
        self._cluster, self._replicas = self._gang.cluster, self._gang.replicas
        self._settings, self._train_split, self._steps = spec.settings, spec.train, spec.steps
        self._compare_every = self._settings.compare_steps if self._replicas.total > 1 else 0
        last = (self._train_split.layout.total - 1) % self._settings.batch_size + 1
        self._train = make_train_block(
            self._gang.strategy,
            self._model,
            self._replicas,
            idle=last < self._replicas.total,
            class_weights=scoring.shard_set.class_weights,
        )
        self._digest = make_weight_digest(self._gang.strategy, self._model)
        self._wanted_block = 1
        self._saved_at = time.monotonic()
        self._traced = False
        self._speed: dict[str, float] = {}
        self._staged = 0.0
        position = self.position  # on a restart the position has the first loss
        if position.history:
            self._set_loss_limit(position.history[0]["loss"])
        elif position.records:
            self._set_loss_limit(position.loss / position.records)

    def run(self) -> None:
        """Train to the end and score every split except the training split.

        Raises:
            Stopped: SIGTERM arrived; a checkpoint of the last step was saved.
            BadData, BadConfiguration, TryAgain: of a step, of a comparison or of staging.
        """
        self._watch.enter("steps")
        while self.position.epoch < self._settings.epochs and not self.position.stopped:
            if self.position.step == 0:
                self.callbacks.call("on_epoch_begin", self.position.epoch, {})
            self._run_epoch()
            self._close_epoch(last=self.position.epoch + 1 == self._settings.epochs)
        self._model.optimizer.finalize_variable_values(self._model.trainable_variables)
        last_epoch = self.position.history[-1] if self.position.history else {}
        numbers = {name: value for name, value in last_epoch.items() if name != "epoch"}
        self.callbacks.call("on_train_end", numbers)
        splits = self.scoring.shard_set.splits
        for name in sorted(splits.keys() - {"train"}):
            self.evaluated[name] = self.scoring.evaluate(splits[name])
        if "val" in splits and self.position.history and not self.callbacks:
            last = _prefixed(self.evaluated["val"].scores)
            self.position.history[-1].update(last)
            if self._cluster.is_chief:
                write_summaries(self.spec.plan.folder, self._global_step, last)

    def wall_time(self) -> dict[str, float]:
        """Return the wall time of the run until now, by class, across its attempts."""
        newest = self.progress.line("end", step=self._global_step)
        seconds = with_retries(wall_time, self.spec.plan.folder, newest)
        return {name: round(value, 3) for name, value in seconds.items() if value}

    @property
    def _global_step(self) -> int:
        return self.position.epoch * self._steps + self.position.step

    def _run_epoch(self) -> None:
        position = self.position
        if position.step == self._steps:  # resumed from the last step of an epoch
            return
        produced: deque[float] = deque()
        batches = self.scoring.stream(
            self._train_split, self.spec.shuffle(position.epoch), position.step, produced
        )
        while position.step < self._steps:
            k = self._next_block()
            started = time.monotonic()
            signals = [float(self.stop.requested), *self._chiefs_signals()]
            part = "steps" if self._traced else "tracing"
            with self._watch.during(part), self.scoring.watched(f"at step {self._global_step + 1}"):
                outcome = self._train(batches, k, signals)
            sizes = self.scoring.check(
                outcome, self._train_split, position.step, f"epoch {position.epoch + 1}"
            )
            self.check_not_zero(outcome)
            self._set_loss_limit(float(outcome.losses[0]))
            position.loss += float(np.dot(outcome.losses.astype(np.float64), sizes))
            position.records += int(sizes.sum())
            position.step += k
            ended = time.monotonic()
            wait = waiting(started, ended, [produced.popleft() for _ in range(k)])
            self._tell(k, ended - started, wait, float(outcome.losses[-1]))
            self._act_on(outcome.signals)

    def _close_epoch(self, *, last: bool) -> None:
        position, splits = self.position, self.scoring.shard_set.splits
        entry = {"loss": position.loss / position.records, **self.scoring.metrics()}
        self._model.reset_metrics()
        self._compare_weights(f"after epoch {position.epoch + 1}")
        # As in `needs`, even if the user's function returned no callback.
        if "val" in splits and (self._settings.callbacks or not last):
            entry.update(_prefixed(self.scoring.evaluate(splits["val"]).scores))
        if self.callbacks:
            position.stopped = self._callbacks_stop(entry)
        position.history.append({"epoch": position.epoch + 1, **entry})
        scores = {key: round(value, 4) for key, value in entry.items()}
        begin = position.epoch * self._steps
        mine = [each for each in self.timeline.intervals if each.step > begin]
        wait = summed(mine).wait if mine else None
        line = epoch_line(position.history[-1], self._settings.epochs, wait)
        # In one value: a metric may have the name of another one of the line.
        log.info("epoch", readable=line, epoch=position.epoch + 1, scores=scores, input_wait=wait)
        # With the speed: where epochs are short, the lines of their steps are too close to be kept.
        own = {"step": self._global_step, **self._speed}
        self.progress.event("epoch", **(position.history[-1] | own))
        if self._cluster.is_chief:
            folder = self.spec.plan.folder
            write_summaries(folder, self._global_step, position.history[-1], mine)
        position.epoch += 1
        position.step = position.records = 0
        position.loss = 0.0
        if last or position.stopped:  # scoring may take long: a restart must not train again
            self._save()
        if position.stopped and not last:
            self.scoring.staging.replan(needs(self.spec, self._replicas, position))

    def _callbacks_stop(self, entry: dict[str, float]) -> bool:
        """Return whether the callbacks end the training; all workers must agree."""
        with self._gang.strategy.scope():
            stop = self.callbacks.epoch_ended(self.position.epoch, entry)
        known = {"decisions of the callbacks": repr((stop, self.callbacks.state()))}
        require_consensus(self._gang, known, f"after epoch {self.position.epoch + 1}")
        if stop:
            log.info("the callbacks end the training", epoch=self.position.epoch + 1)
        return stop

    def _next_block(self) -> int:
        """Return the steps until the next checkpoint, comparison or epoch end, at most a block."""
        k = min(self.scoring.block, self._steps - self.position.step)
        for every in (self._settings.checkpoint_steps, self._compare_every):
            if every:
                k = min(k, every - self._global_step % every)
        return k

    def _chiefs_signals(self) -> tuple[float, float]:
        """Return the chief's decisions: whether to save a checkpoint, and the block's length."""
        if not self._cluster.is_chief:
            return 0.0, 0.0
        interval = self._settings.checkpoint_interval
        due = interval is not None and time.monotonic() - self._saved_at >= interval
        return float(due), float(self._wanted_block)

    def _act_on(self, signals: NDArray[Any]) -> None:
        stopping, due, block = signals.tolist()
        self.scoring.block = int(block)
        step, every = self._global_step, self._settings.checkpoint_steps
        if self._compare_every and step % self._compare_every == 0:
            self._compare_weights(f"at step {step}")
        if stopping or due or (every and step % every == 0):
            self._save()
        if stopping:
            with self._watch.during("checkpoint_stall"):
                self.checkpoints.wait()
            self.progress.event("stopped", step=self._global_step)
            raise Stopped(
                f"{int(stopping)} of {self._cluster.size} workers received SIGTERM",
                found=f"a checkpoint of step {self._global_step} was saved",
                hint="The same command goes on from there.",
            )

    def _save(self) -> None:
        """Save a checkpoint; all workers read the state, because its sums are collective."""
        with self._watch.during("checkpoint_stall"):
            with self.scoring.watched(f"at the checkpoint of step {self._global_step}"):
                state = snapshot(self._model) | self.callbacks.arrays()
            self.position.callbacks = self.callbacks.state()
            self._saved_at = time.monotonic()
            if self._cluster.is_chief:
                self.checkpoints.save(self._global_step, state, asdict(self.position))
                self.progress.event("checkpoint", step=self._global_step)

    def check_not_zero(self, outcome: Outcome) -> None:
        """Refuse a loss of exactly 0 in the first step, unless the settings allow it."""
        # A later one is no fault: float32 has none smaller for a model that has learned all.
        first = self._global_step == 0 and outcome.losses[0] == 0
        if first and not self._settings.allow_zero_loss:
            raise ZeroLoss(
                where="step 1",
                expected="a loss above 0",
                found="exactly 0",
                hint="Labels that are all the same, or a loss that does not fit the model's output,"
                " do this. If it is as it should be, give --allow-zero-loss.",
            )

    def _set_loss_limit(self, first: float) -> None:
        if self.scoring.loss_limit is None and not self._settings.allow_exploding_loss:
            self.scoring.loss_limit = loss_limit(first, self.scoring.shard_set)

    def _tell(self, k: int, seconds: float, waited: float, loss: float) -> None:
        per_step, wait = seconds / k, waited / seconds
        before, self._staged = self._staged, self.scoring.staging.waited
        storage = min(wait, (self._staged - before) / seconds)
        if self._traced:  # TensorFlow traces the graph in the first block
            self.timeline.add(Interval(self._global_step, k, per_step, wait, storage))
            self._watch.move(waited, "input_stall")
        self._traced = True
        self._wanted_block = max(1, min(_MOST_STEPS, int(_BLOCK_SECONDS / max(per_step, 1e-6))))
        self.bar.advance(k)
        self._speed = {
            "steps_per_second": round(1 / max(per_step, 1e-6), 3),
            "input_wait": round(wait, 4),
        }
        self.progress.step(
            step=self._global_step, epoch=self.position.epoch + 1, loss=loss, **self._speed
        )

    def _compare_weights(self, when: str) -> None:
        if self._replicas.total == 1:
            return
        with self.scoring.watched(when):
            found = self._digest()
        if len(set(found)) > 1:
            raise PeersDisagree(
                f"the replicas of worker {self._cluster.rank} differ in their weights {when}",
                expected="the same weights on each of its devices",
                found=f"{len(set(found))} different ones on {len(found)} devices",
                hint="Start all workers anew, with the same command in the same environment.",
            )
        require_consensus(self._gang, {"weights": repr(found[0])}, when)


def _prefixed(scores: dict[str, float]) -> dict[str, float]:
    return {f"val_{name}": value for name, value in scores.items()}
