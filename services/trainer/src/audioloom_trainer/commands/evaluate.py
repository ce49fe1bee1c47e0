"""`evaluate`: score a committed run on splits, or with --follow each checkpoint of a training.

    evaluations/step-<8 digits>.json    in the run folder: the scores of a checkpoint, written once

The manifest that names the model is written at the end of the training. So with --follow the user
names the model as for `run`.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches

import structlog
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.layout import MANIFEST_NAME
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.scores import score_table
from audioloom_stage.errors import BadData, Usage
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

from audioloom_trainer.evaluation.split_scores import evaluation_report, with_mean_baseline
from audioloom_trainer.input.integrity import check_files_exist
from audioloom_trainer.models.source import find_model
from audioloom_trainer.runs.checkpoint import Checkpoint, list_checkpoints, read_checkpoint
from audioloom_trainer.runs.committed_run import CommittedRun, open_run, read_trained_on
from audioloom_trainer.runs.layout import read_launch
from audioloom_trainer.runs.npz import BadArrays
from audioloom_trainer.runtime.retry import LIMIT, with_retries
from audioloom_trainer.settings import DEFAULT_MODEL, EvaluateSettings
from audioloom_trainer.shards.shard_set import ShardSet, Split, open_shards

LOOK_AGAIN_S = 5.0

log = structlog.get_logger()


def evaluate(settings: EvaluateSettings) -> Result:
    """Build the model of a committed run in this process and score it, or follow a training."""
    LIMIT.seconds = settings.storage_timeout
    if settings.follow:
        return _follow(settings)
    run = open_run(settings.run, settings.model)
    trained_on = read_trained_on(run.opened)
    given = settings.shards
    opened = trained_on if given is None else read_manifest(given, expect="shards")
    own, scored = open_shards(trained_on), open_shards(opened)
    _check_same_task(run, trained_on, opened)
    splits = _chosen_splits(scored, settings.split)

    from audioloom_trainer.distributed.strategy import set_up_tensorflow  # noqa: PLC0415

    recipe = run.opened.manifest.recipe
    set_up_tensorflow(
        threads=settings.threads,
        deterministic=recipe.deterministic,
        seed=recipe.seed,
        legacy=recipe.keras == "legacy",
    )
    from audioloom_trainer.evaluation.scoring import local_scoring  # noqa: PLC0415
    from audioloom_trainer.runs.rebuild import rebuild  # noqa: PLC0415

    model = rebuild(run, own)
    with local_scoring(settings, model, scored, splits) as scoring:
        evaluated = {split.name: scoring.evaluate(split) for split in splits}
    train = own.splits["train"]
    told = with_retries(evaluation_report, scored, evaluated, train)
    report = with_mean_baseline(told, scored, train=train)
    scores = {name: each["scores"] for name, each in report["splits"].items()}
    return Result(
        text=score_table(scores),
        data={"run": run.opened.location.uri, "shards": opened.location.uri, **report},
    )


def _chosen_splits(scored: ShardSet, names: tuple[str, ...]) -> list[Split]:
    """Return the splits to score, whose files exist: *names*, by default all but train."""
    found = names or tuple(sorted(scored.splits.keys() - {"train"}))
    if not found:
        raise BadData(
            expected="a split other than train",
            found="train alone",
            hint="Give --split train to score what was trained on.",
        )
    for name in names:
        if name not in scored.splits:
            near = get_close_matches(name, scored.splits, 1)
            raise Usage(
                where="--split",
                expected=f"one of {', '.join(scored.splits)}",
                found=name,
                hint=f"Did you mean {near[0]}?" if near else "",
            )
    check_files_exist(scored, found)
    return [scored.split(name) for name in dict.fromkeys(found)]


def _check_same_task(
    run: CommittedRun, trained_on: Opened[ShardsManifest], scored: Opened[ShardsManifest]
) -> None:
    """Refuse shards of another feature or vocabulary: their scores would mean nothing."""
    own, other = trained_on.manifest.stats, scored.manifest.stats
    features = own.feature, other.feature
    targets = [each.manifest.recipe.target for each in (trained_on, scored)]
    for what, trained, found in (
        # Name and shape must be equal; float32 may replace float16.
        ("features", *(f"{each.name} of shape {tuple(each.shape)}" for each in features)),
        ("targets", *targets),
        ("labels", ", ".join(own.labels), ", ".join(other.labels)),
    ):
        if trained != found:
            raise BadData(
                f"the run {run.opened.manifest.name} was trained on other {what}",
                where=scored.location,
                expected=trained[:300],
                found=found[:300],
                hint="Shard with the same --labels, and features of the same settings.",
            )


def _follow(settings: EvaluateSettings) -> Result:
    """Score checkpoints until the run is committed and its last one is scored.

    Skip checkpoints that have scores already or that the training has removed meanwhile.
    """
    run = locate(settings.run) if settings.run else read_launch(os.environ).folder
    if run is None:
        raise Usage("RUN is required: the folder of a run, where no launcher names it")
    run = run.parent if run.name == MANIFEST_NAME else run
    bind(run=run.name)
    opened = read_manifest(str(settings.shards), expect="shards")
    shard_set = open_shards(opened)
    splits = _chosen_splits(shard_set, settings.split)
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
            if commit.step in done:
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
