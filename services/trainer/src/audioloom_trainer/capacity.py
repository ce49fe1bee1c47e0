"""Predict what a training takes, from its shards' manifest alone: no shard is opened."""

from collections import Counter
from dataclasses import replace
from math import ceil, inf, prod

from audioloom_manifest.envelope import Cost
from audioloom_runs.capacity import (
    BLOCK_READS_BYTES,
    CALLS_PER_SECOND,
    DRIVER_BYTES,
    LISTED,
    Line,
    call_lines,
    calls,
)
from audioloom_runs.cost import predict_cost
from audioloom_runs.prediction import Expected

from audioloom_trainer.input.batches import Replicas, least_cache
from audioloom_trainer.input.sampler import allowed_replicas
from audioloom_trainer.runs.progress import EVERY_SECONDS
from audioloom_trainer.settings import DEFAULT_MODEL
from audioloom_trainer.training.spec import RunSpec

STAGED_BYTES = 757 * 10**6
"""Bytes that a process reads, digests and writes in a second at most; a network may be slower."""
STATE_BYTES = 12
"""Of a parameter in a checkpoint: the weight and Adam's two moments, float32."""
ENTRY_BYTES = 2800
"""Memory of a line in the list of files, in every worker."""
START_SECONDS = 17.0
"""Of a training on a CPU: imports, graphs, results, report."""
STEP_SECONDS, SYNC_SECONDS, VALUE_SECONDS = 2e-3, 8e-3, 4e-8
"""Of a step, of its exchange between replicas, and of a core for each value of a record, on a CPU.

They are those of the default model.
"""
SCORED = 0.4
"""What scoring a record takes of training with it."""
MEMORY_BYTES, STORED_BYTES = 770 << 20, 1 << 20
"""Of a worker, and of the results, whatever the model."""
MODEL_DOUBT = 2.0
"""How far another model may be from the default one, relative."""
CALLS_A_SECOND = (CALLS_PER_SECOND / 10, CALLS_PER_SECOND / 2)

_CACHE = "--cache-bytes, a smaller --shuffle-window, or more replicas"
_REPLICAS = "one of the allowed numbers, or shards with other --lanes"
_STAGING = "a larger --cache-bytes, or larger shards"
_WORKERS = "fewer workers"


def run_calls(shards: int, workers: int, epochs_read: int) -> Counter[str]:
    """The calls of a training, besides those for its progress, checkpoints and results.

    Every worker opens the manifest and its list of files; the chief lists the folders of shards.
    Each shard and its index are copied by the worker that reads them, once for each of some epochs.
    """
    listings = ceil(2 * shards / LISTED)
    return calls(opens=2 * shards * epochs_read + 2 * workers, lists=listings)


def cost_of(spec: RunSpec, replicas: int, parameters: int = 0) -> dict[str, Cost]:
    """What a training is predicted to take with so many replicas, each with a worker's cores."""
    settings, shard_set, cores = spec.settings, spec.shard_set, spec.cores
    train = spec.train.layout.total
    scored = {name: split.layout.total for name, split in shard_set.splits.items()}
    trained, of_val = train * settings.epochs, scored.get("val", 0) * settings.epochs
    records = trained + SCORED * (of_val + sum(scored.values()) - train)
    steps = spec.steps * settings.epochs
    values = records * prod(shard_set.shape) * VALUE_SECONDS / cores / replicas
    files = [file for split in shard_set.splits.values() for file in split.files()]
    size = sum(file.content.bytes for file in files) // replicas
    in_place = all(file.location.scheme == "file" and not file.uncompressed for file in files)
    cache = 0 if in_place and settings.cache is None else min(size, settings.cache_bytes)
    known = settings.model == DEFAULT_MODEL
    step = STEP_SECONDS + (SYNC_SECONDS if replicas > 1 else 0)
    work = Expected(START_SECONDS, steps * step + values + cache / STAGED_BYTES)
    return predict_cost(
        spec.plan,
        same=("model", "callbacks", "keras", "deterministic"),
        cores=cores * replicas,
        seconds=work if known else replace(work, doubt=MODEL_DOUBT),
        memory=Expected(MEMORY_BYTES, parameters * STATE_BYTES),
        stored=Expected(STORED_BYTES, parameters * STATE_BYTES),
        cache=cache,
    )


def lines_of(spec: RunSpec, workers: int, parameters: int = 0) -> list[Line]:
    """What a training is predicted to take with so many workers, line by line."""
    settings, train, manifest = spec.settings, spec.train, spec.shards.manifest
    recordings = sum(split.recordings for split in manifest.stats.splits.values())
    splits = spec.shard_set.splits.items()
    each_epoch = [split for name, split in splits if name in {"train", "val"}]
    shards = [shard for split in each_epoch for shard in split.shards]
    size = sum(shard.bytes for shard in shards)
    mine = size // workers
    epochs_read = 1 if mine <= settings.cache_bytes else settings.epochs
    allowed = allowed_replicas(train.layout.lanes)
    fits = (inf, inf) if workers in allowed else (0, 0)
    cache = least_cache(train, spec.window, Replicas(total=workers))
    limit = (settings.cache_bytes, settings.cache_bytes)
    progress = workers * calls(files=1, blocks=1, removed=1).total() / EVERY_SECONDS
    state = parameters * STATE_BYTES
    memory = 2 * len(shards) * ENTRY_BYTES
    hottest = max(workers * manifest.files.bytes, state)  # every worker reads the list of files
    named = f"replicas (allowed: {', '.join(map(str, allowed))})"
    return [
        Line("recordings", recordings),
        Line("windows of train", train.layout.total),
        Line("bytes of shards", size, "B"),
        Line("shards", len(shards)),
        Line("steps an epoch", spec.steps),
        Line(named, workers, "", fits, _REPLICAS),
        Line("least cache of a worker", cache, "B", limit, _CACHE),
        Line("bytes read by a worker", mine * epochs_read, "B"),
        Line("staging an epoch, at least", mine / STAGED_BYTES, "s"),
        *([Line("a checkpoint, at least", state / STAGED_BYTES, "s")] if state else []),
        *call_lines(run_calls(len(shards), workers, epochs_read), _STAGING),
        Line("NameNode: calls while training", progress, "/s", CALLS_A_SECOND, _WORKERS),
        Line("memory of the list of files", memory, "B", DRIVER_BYTES, "larger shards"),
        Line("read of the hottest block", hottest, "B", BLOCK_READS_BYTES, _WORKERS),
    ]
