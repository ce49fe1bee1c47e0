"""One training with TensorFlow in the process: strategy, model, epochs, results, commit."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import structlog
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import TrainingRunStats
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Attempt, Committed, commit
from audioloom_runs.attempts import new_attempt
from audioloom_runs.cost import note_actual
from audioloom_stage.progress_bar import progress
from audioloom_stage.terminal import counted
from numpy.typing import NDArray

from audioloom_trainer.distributed.consensus import broadcast, require_consensus
from audioloom_trainer.distributed.peer_failures import translate_peer_failures
from audioloom_trainer.distributed.steps import spread_seeds
from audioloom_trainer.distributed.strategy import (
    Gang,
    describe_devices,
    local_replicas,
    make_strategy,
    versions,
)
from audioloom_trainer.evaluation.scoring import Scoring
from audioloom_trainer.evaluation.split_scores import evaluation_report, with_mean_baseline
from audioloom_trainer.input.batches import Replicas
from audioloom_trainer.input.cache import open_cache
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.models.build import build_model, configuration
from audioloom_trainer.models.keras_compat import library, metric_shapes
from audioloom_trainer.models.state import restore, restore_weights, weights
from audioloom_trainer.report_page import report
from audioloom_trainer.runs.artifacts import kept_sources, made, result_files, write_files
from audioloom_trainer.runs.checkpoint import (
    Checkpoint,
    CheckpointRecord,
    CheckpointWriter,
    checked,
)
from audioloom_trainer.runs.exported_model import model_files
from audioloom_trainer.runs.npz import dump_arrays
from audioloom_trainer.runs.progress import ProgressFile
from audioloom_trainer.runs.stopwatch import Stopwatch
from audioloom_trainer.runs.summaries import events_of
from audioloom_trainer.runs.timeline import bottleneck, summed
from audioloom_trainer.runtime.retry import with_retries
from audioloom_trainer.runtime.signals import StopRequest
from audioloom_trainer.training.callbacks import ARRAYS, Callbacks, load_callbacks
from audioloom_trainer.training.epochs import Session
from audioloom_trainer.training.provenance import provenance, shown_weights, training_facts
from audioloom_trainer.training.spec import (
    RunSpec,
    TrainingPosition,
    check_cache,
    check_replicas,
    needs,
)

log = structlog.get_logger()


def fit(spec: RunSpec, resume: Checkpoint | None, stop: StopRequest) -> Committed | None:
    """Train to the end and commit the run; return it, or None if another worker commits it.

    TensorFlow must be set up, and the specification be the same on all workers. They get the
    checkpoint to *resume* from the chief.
    """
    watch = Stopwatch.of_process()
    cluster, launch, settings = spec.cluster, spec.launch, spec.settings
    noted = {
        "model": settings.model if spec.model.module is not None else spec.model.place,
        "threads": settings.threads,
        "checkpoint_steps": settings.checkpoint_steps,
        "checkpoint_interval": settings.checkpoint_interval,
        "launch_attempt": launch.attempt,
        "launch_generation": launch.generation,
    }
    libraries = ("audioloom-trainer",)
    attempt = new_attempt("trainer", noted, libraries=libraries, versions=versions())
    attempt.cost.update(spec.cost)
    common = {"attempt": launch.attempt, "generation": launch.generation}
    events = ProgressFile(
        spec.plan.folder,
        cluster.rank,
        {"rank": cluster.rank, **common},
        launch.progress,
        measured=watch.line if cluster.is_chief else dict,  # workers go in lockstep
    )
    with events.failure_noted():
        strategy = make_strategy(cluster)
        gang = Gang(strategy, cluster, local_replicas(strategy, cluster))
        check_replicas(spec.train, gang.replicas.total)
        known = {"run": spec.plan.name if launch.folder is None else launch.folder.uri}
        known |= {name: str(value) for name, value in common.items()}
        known["recipe and shards"] = spec.recipe
        require_consensus(gang, known | versions(), "at the start")
        resume = _chiefs(gang, resume)
    session = _train(spec, gang, resume, stop, events, watch)
    watch.enter("end")
    committed = None
    with events.failure_noted():
        if cluster.is_chief:
            files, stats = _results(spec, session, attempt)
            attempt.seconds.update(session.wall_time())
            taken = sum(watch.line()["seconds"].values())
            cores = cluster.size * spec.cores
            makers = {attempt.id, "" if resume is not None else attempt.id}
            note_actual(attempt, spec.plan.folder, files, taken, cores=cores, makers=makers)
            committed = with_retries(commit, spec.plan, attempt, files, stats)
        # A barrier: no worker may end while another worker still needs it.
        require_consensus(gang, {"end": spec.plan.name}, "at the end")
        events.event("done")
    return committed


def _chiefs(gang: Gang, resume: Checkpoint | None) -> Checkpoint | None:
    """Return the chief's checkpoint on every worker: storage is read by one and not by all."""
    if gang.cluster.size == 1:
        return resume
    record, state = b"", b""
    if resume is not None:
        record, state = resume.record.model_dump_json().encode(), dump_arrays(resume.state)
    with translate_peer_failures(gang.cluster, "while the chief sent its checkpoint"):
        record, state = broadcast(gang, record), broadcast(gang, state)
    return checked(CheckpointRecord.model_validate_json(record), state) if record else None


def _train(
    spec: RunSpec,
    gang: Gang,
    resume: Checkpoint | None,
    stop: StopRequest,
    events: ProgressFile,
    watch: Stopwatch,
) -> Session:
    shard_set, replicas = spec.shard_set, gang.replicas
    saved: Any = {} if resume is None else resume.record.position
    position = TrainingPosition(**saved)
    with ExitStack() as stack:
        staging = stack.enter_context(_staging(spec, replicas, position, stack))
        keep = spec.settings.keep_checkpoints
        checkpoints = CheckpointWriter(spec.plan.folder, spec.recipe, replicas.total, keep)
        stack.callback(checkpoints.close)
        stack.enter_context(events.failure_noted())  # exits before the waits for storage above
        # Any operation may raise the error of a lost peer, even a reset of the metrics.
        stack.enter_context(translate_peer_failures(gang.cluster, "in training"))
        model = _model(spec, gang, resume)
        with gang.strategy.scope():
            callbacks = _callbacks(spec, model, position, resume)
        done = position.epoch * spec.steps + position.step
        every, devices = spec.settings.epochs * spec.steps, describe_devices()
        if shard_set.class_weights is not None:
            log.info("the loss is weighted by class", weights=shown_weights(shard_set))
        events.always(from_step=done)
        events.event("start", step=done, steps=every, devices=devices)
        log.info(
            "training",
            readable=f"training {counted(every - done, 'steps')} on {devices},"
            f" {counted(replicas.total, 'replicas')}, {model.count_params():,} parameters",
            steps=every,
            from_step=done,
            replicas=replicas.total,
            devices=devices,
            parameters=model.count_params(),
        )
        bar = stack.enter_context(progress(every, "training", "steps"))
        bar.done = done
        session = Session(
            spec=spec,
            scoring=Scoring(gang, model, staging, spec.settings.batch_size, watch=watch),
            checkpoints=checkpoints,
            progress=events,
            bar=bar,
            stop=stop,
            position=position,
            callbacks=callbacks,
        )
        session.run()
        with watch.during("checkpoint_stall"):
            checkpoints.wait()
        return session


def _results(
    spec: RunSpec, session: Session, attempt: Attempt
) -> tuple[list[FileEntry], TrainingRunStats]:
    """Write the results of a training, and note in the attempt which part limited its speed."""
    model, shard_set, folder = session.scoring.model, spec.shard_set, spec.plan.folder
    train, epochs = spec.train, session.position.epoch
    evaluation = with_retries(evaluation_report, shard_set, session.evaluated, train)
    shown = with_mean_baseline(evaluation, shard_set, train=train)
    history, values = session.position.history, weights(model)
    stats = TrainingRunStats(
        steps=epochs * spec.steps,
        records=epochs * train.layout.total,
        replicas=session.scoring.gang.replicas.total,
        parameters=model.count_params(),
        scores={name: each["scores"] for name, each in shown["splits"].items()},
    )
    sources = [each for each in (spec.model, spec.callbacks) if each is not None]
    results = result_files(values, configuration(model), history, evaluation)
    files = write_files(folder, [*results, *kept_sources(*sources)])
    files += with_retries(events_of, folder)
    feature = spec.shards.manifest.stats.feature.name
    files += write_files(folder, model_files(_alone(spec, model, values), feature, shard_set))
    intervals = session.timeline.intervals
    seconds = session.wall_time()
    facts = [
        *training_facts(spec, stats, describe_devices()),
        *provenance(attempt, sum(seconds.values()), spec.plan.inputs, root_of(folder)),
    ]
    for name, each in shown["splits"].items():
        each["groups"] = shard_set.split(name).groups
    page = report(spec.plan.name, facts, history, shown, intervals, seconds)
    files += write_files(folder, [made("report", page.encode(), "report", ".html")])
    attempt.settings.update(
        devices=describe_devices(),
        workers=spec.cluster.size,
        bottleneck=bottleneck(intervals),
        input_wait=round(summed(intervals).wait, 4) if intervals else 0.0,
    )
    return files, stats


def _staging(
    spec: RunSpec, replicas: Replicas, position: TrainingPosition, stack: ExitStack
) -> Staging:
    settings, shard_set, cluster = spec.settings, spec.shard_set, spec.cluster
    cache = stack.enter_context(open_cache(shard_set, settings.cache, settings.cache_bytes))
    if cache is not None:
        check_cache(spec.train, spec.window, replicas, cache.limit)
        cache.keep_only(shard for split in shard_set.splits.values() for shard in split.shards)
    early = [
        file
        for name, split in sorted(shard_set.splits.items())
        if name != "train"
        for file in split.files(part=cluster.rank, parts=cluster.size)
    ]
    return Staging(shard_set, needs(spec, replicas, position), cache=cache, early=early)


def _model(spec: RunSpec, gang: Gang, resume: Checkpoint | None) -> Any:
    with gang.strategy.scope():
        model = _built(spec, gang.replicas.total)
    if resume is not None:
        own = {k: v for k, v in resume.state.items() if not k.startswith(ARRAYS)}
        restore(gang.strategy, model, own)
        log.info("resumed", step=resume.record.step)
    spread_seeds(gang.strategy, model, gang.replicas)
    return model


def _built(spec: RunSpec, replicas: int) -> Any:
    arguments = spec.settings.model_arg
    return build_model(spec.shard_set, spec.model, arguments, replicas=replicas, legacy=spec.legacy)


def _alone(spec: RunSpec, model: Any, values: Mapping[str, NDArray[np.generic]]) -> Any:
    """Return a model of this process alone: writing one of `tf_keras` would need all workers."""
    if not spec.legacy:
        return model
    library(legacy=True).backend.reset_uids()  # so that the copy's layers get equal names
    copy = _built(spec, replicas=1)
    restore_weights(copy, values)
    return copy


def _callbacks(
    spec: RunSpec, model: Any, position: TrainingPosition, resume: Checkpoint | None
) -> Callbacks:
    if spec.callbacks is None:
        return Callbacks()
    settings = spec.settings
    callbacks = load_callbacks(
        spec.callbacks, settings.callback_arg, stateless=settings.stateless_callbacks
    )
    own = ["loss", *(name for name in metric_shapes(model) if name != "loss")]
    validated = [f"val_{name}" for name in own] if "val" in spec.shard_set.splits else []
    callbacks.begin(model, [*own, *validated])
    if resume is not None and position.callbacks:
        callbacks.restore(position.callbacks, resume.state)
    return callbacks
