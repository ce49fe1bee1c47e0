"""`evaluate`: score a committed run on splits of its own shards or of other shards."""

from difflib import get_close_matches

from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.scores import score_table
from audioloom_stage.errors import BadData, Usage
from audioloom_stage.result import Result

from audioloom_trainer.evaluation.report import evaluation_report, with_mean_baseline
from audioloom_trainer.input.integrity import check_files_exist
from audioloom_trainer.runs.committed_run import CommittedRun, open_run, read_trained_on
from audioloom_trainer.runtime.retry import LIMIT, with_retries
from audioloom_trainer.settings import EvaluateSettings
from audioloom_trainer.shards.shard_set import ShardSet, Split, open_shards


def evaluate(settings: EvaluateSettings) -> Result:
    """Build the model of a committed run in this process and score it."""
    LIMIT.seconds = settings.storage_timeout
    run = open_run(settings.run, settings.model)
    trained_on = read_trained_on(run.opened)
    opened = read_manifest(settings.shards, expect="shards") if settings.shards else trained_on
    own, scored = open_shards(trained_on), open_shards(opened)
    _check_same_task(run, trained_on, opened)
    splits = chosen_splits(scored, settings.split)

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


def chosen_splits(scored: ShardSet, names: tuple[str, ...]) -> list[Split]:
    """Return the splits to score, whose files exist: *names*, by default all but train."""
    found = names or tuple(sorted(scored.splits.keys() - {"train"}))
    if not found:
        raise BadData(
            expected="a split beside train",
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
