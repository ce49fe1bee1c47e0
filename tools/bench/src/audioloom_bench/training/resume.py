"""What going on takes, and what being able to: the first batch, a checkpoint's stall, a digest.

The first batch is that of the last quarter of an epoch, from staged shards; naive is what a
tf.data pipeline has for it, `skip`. State is of a Dense network of five million parameters with
Adam. The stall is what the loop waits for: the copy of the state. The digest is of the weights,
as workers compare them.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from audioloom_bench.measure import NAIVE, Lane
from audioloom_bench.training.figures import OURS, figures, single
from audioloom_bench.training.loops import Trainer
from audioloom_bench.training.pipelines import Epochs, files_of, good_batches, in_memory
from audioloom_bench.training.team import Taken, Work, interleaved, team

WIDTH = 400
"""Cells that make five million parameters."""
STEPS_A_DIGEST = 100
FIRST = "first batch at a late offset"
_STEPS = 10


def lanes(manifest: str, steps: int, rounds: int) -> list[Lane]:
    """Milliseconds, and the digest's share of the steps between two of them."""
    with ExitStack() as stack:
        found = interleaved(
            {
                NAIVE: stack.enter_context(team(skipping, manifest, steps * 3 // 4)),
                OURS: stack.enter_context(team(seeking, manifest, steps * 3 // 4)),
                "state": stack.enter_context(team(keeping)),
            },
            rounds,
        )
    state = found.pop("state")
    first = {name: [1e3 * each.notes[FIRST] for each in taken] for name, taken in found.items()}
    return [
        *figures(first, FIRST, "ms"),
        single("checkpoint of 5 M parameters, stall", 1e3 * _median(state, "stall"), "ms"),
        single("digest of 5 M parameters", 1e3 * _median(state, "digest"), "ms"),
        single(
            f"the same, once in {STEPS_A_DIGEST} steps",
            statistics.median(
                100 * each.notes["digest"] / (STEPS_A_DIGEST * each.notes["step"]) for each in state
            ),
            "% of the step",
        ),
    ]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """Nothing: all of these are aims."""
    del lanes
    return []


def _median(found: Sequence[Taken], name: str) -> float:
    return statistics.median(each.notes[name] for each in found)


def skipping(manifest: str, start: int) -> Work:
    """The batch after so many that are parsed for nothing."""
    data = good_batches(files_of(manifest))

    return lambda: {FIRST: timed(lambda: next(iter(data.skip(start))))}


def seeking(manifest: str, start: int) -> Work:
    """The batch at its place, by the trainer's feed."""
    epochs = Epochs(manifest)

    def first() -> dict[str, float]:
        batches = epochs.batches()(start)
        taken = timed(lambda: next(batches))
        for _ in batches:  # to the end of the epoch: the next one is asked for afterwards
            pass
        return {FIRST: taken}

    return first


def keeping() -> Work:
    """A checkpoint of a model, a digest of its weights, and a few of its steps."""
    trainer = Trainer("tiny Dense", width=WIDTH)
    from audioloom_storage import locate  # noqa: PLC0415
    from audioloom_trainer.distributed.consensus import make_weight_digest  # noqa: PLC0415
    from audioloom_trainer.models.state import snapshot  # noqa: PLC0415
    from audioloom_trainer.runs.checkpoint import CheckpointWriter  # noqa: PLC0415

    digest = make_weight_digest(trainer.strategy, trainer.model)
    digest()  # the first call traces

    def go() -> dict[str, float]:
        trainer.train(in_memory(), _STEPS)
        steps = timed(lambda: trainer.train(in_memory(), _STEPS))
        with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
            saver = CheckpointWriter(locate(Path(folder)), f"{0:064}", 1, 1)
            stall = timed(lambda: saver.save(1, snapshot(trainer.model), {}))
            saver.wait()
            saver.close()
        return {"step": steps / _STEPS, "stall": stall, "digest": timed(digest)}

    return go


def timed(action: Callable[[], object]) -> float:
    """Seconds by the clock."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
