"""`evaluate --follow`: score each checkpoint of a run while the training goes on.

    evaluations/step-<8 digits>.json    in the run folder: the scores of a checkpoint, written once

The manifest that names the model is written at the end of the training. So the user names the
model here as for `run`.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress

import structlog
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import read_manifest
from audioloom_runs.scores import score_table
from audioloom_stage.errors import Usage
from audioloom_stage.logs import bind
from audioloom_stage.result import Result
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    exists,
    list_folder,
    locate,
    publish,
)

from audioloom_trainer.commands.evaluate import chosen_splits
from audioloom_trainer.models.source import find_model
from audioloom_trainer.runs.checkpoint import Checkpoint, list_checkpoints, read_checkpoint
from audioloom_trainer.runs.layout import read_launch
from audioloom_trainer.runs.npz import BadArrays
from audioloom_trainer.runtime.retry import LIMIT, with_retries
from audioloom_trainer.settings import DEFAULT_MODEL, EvaluateSettings
from audioloom_trainer.shards.shard_set import open_shards

LOOK_AGAIN_S = 5.0

log = structlog.get_logger()


def follow(settings: EvaluateSettings) -> Result:
    """Score checkpoints until the run is committed and its last one is scored.

    Skip checkpoints that have scores already or that the training has removed meanwhile.
    """
    LIMIT.seconds = settings.storage_timeout
    run = locate(settings.run) if settings.run else read_launch(os.environ).folder
    if run is None:
        raise Usage("RUN is required: the folder of a run, where no launcher names it")
    run = run.parent if run.name == MANIFEST_NAME else run
    bind(run=run.name)
    opened = read_manifest(str(settings.shards), expect="shards")
    shard_set = open_shards(opened)
    splits = chosen_splits(shard_set, settings.split)
    source = find_model(settings.model or DEFAULT_MODEL)

    from audioloom_trainer.distributed.strategy import set_up_tensorflow  # noqa: PLC0415

    legacy = settings.keras == "legacy"
    set_up_tensorflow(threads=settings.threads, deterministic=False, seed=0, legacy=legacy)
    from audioloom_trainer.evaluation.scoring import local_scoring  # noqa: PLC0415
    from audioloom_trainer.models.build import build_model  # noqa: PLC0415
    from audioloom_trainer.models.state import restore_weights  # noqa: PLC0415

    model = build_model(shard_set, source, settings.model_arg, legacy=legacy)
    scored: dict[str, dict[str, float]] = {}
    with local_scoring(settings, model, shard_set, splits, again=True) as scoring:
        for saved in _as_they_come(run):
            restore_weights(model, saved.state)
            scored = {split.name: scoring.evaluate(split).scores for split in splits}
            step = saved.record.step
            record = {
                "step": step,
                "state": saved.record.state.sha256,
                "scores": scored,
                "shards": opened.manifest.identity,
            }
            data = json.dumps(record, indent=2).encode() + b"\n"
            with suppress(AlreadyExists):  # another evaluator wrote the scores
                with_retries(publish, run / f"evaluations/step-{step:08}.json", data)
            losses = {f"{name}_loss": round(each["loss"], 4) for name, each in scored.items()}
            log.info("scored", step=step, **losses)
    return Result(
        text=score_table(scored) if scored else "nothing was left to be scored",
        data={"run": run.uri, "shards": opened.location.uri, "splits": scored},
    )


def _as_they_come(run: Location) -> Iterator[Checkpoint]:
    """Yield whole checkpoints without scores, oldest first, until the run is committed."""
    done = with_retries(_scored_before, run)
    while True:
        # Look for the manifest first: if it is there, the last checkpoint is there too.
        committed = with_retries(exists, run / MANIFEST_NAME)
        found = with_retries(lambda: list(list_checkpoints(run)))
        for folder, commit in reversed(found):
            if commit is None or commit.step in done:
                continue
            done.add(commit.step)
            try:
                yield with_retries(read_checkpoint, folder, commit)
            except (BadArrays, NotFound) as error:
                log.warning("skipping a checkpoint", step=commit.step, found=str(error))
        if committed:
            return
        time.sleep(LOOK_AGAIN_S)


def _scored_before(run: Location) -> set[int]:
    with suppress(NotFound):
        names = [entry.location.name for entry in list_folder(run / "evaluations")]
        stems = (name.removeprefix("step-").removesuffix(".json") for name in names)
        return {int(stem) for stem in stems if stem.isdecimal()}
    return set()
