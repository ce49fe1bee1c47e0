"""Facts for a report: what was trained, when, where and with what, and of which recordings."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from audioloom_manifest.envelope import InputRef
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import FeaturesManifest, TrainingRunStats
from audioloom_manifest.publication import Attempt
from audioloom_manifest.reader import read_manifest, resolve_input
from audioloom_runs.tables import duration_text
from audioloom_stage.escapes import safe_text
from audioloom_stage.terminal import counted
from audioloom_storage import Location, StorageError

from audioloom_trainer.shards.shard_set import ShardSet
from audioloom_trainer.training.spec import RunSpec

_LIBRARIES = ("python", "tensorflow", "keras", "tf_keras")
_MOST_INPUTS = 12


def training_facts(
    spec: RunSpec, stats: TrainingRunStats, devices: str
) -> Iterator[tuple[str, str]]:
    """Yield named facts of a training and its results."""
    settings = spec.settings
    arguments = "".join(f" {name}={value}" for name, value in settings.model_arg.items())
    yield "model", f"{spec.model.label}{arguments}"
    yield "shards", spec.plan.inputs[0].location
    epochs = counted(settings.epochs, "epochs")
    yield "steps", f"{stats.steps:,} of {settings.batch_size} records, {epochs}"
    yield "replicas", f"{stats.replicas} in {counted(spec.cluster.size, 'workers')}"
    yield "devices", devices
    yield "parameters", f"{stats.parameters:,}"
    yield "seed", f"{settings.seed}"
    yield "class weights", shown_weights(spec.shard_set)


def shown_weights(shard_set: ShardSet) -> str:
    """Return the first weights of classes in one line."""
    pairs = zip(shard_set.labels, shard_set.class_weights or (), strict=False)
    return " ".join(f"{label}={weight:.4g}" for label, weight in islice(pairs, 8))


def provenance(
    attempt: Attempt, seconds: float, inputs: tuple[InputRef, ...], root: Location
) -> Iterator[tuple[str, str]]:
    """Yield named facts; an input that cannot be read now is named, and not followed further.

    *seconds* are the wall time of all attempts; locations of inputs are relative to *root*.
    """
    libraries = (f"{n} {v}" for n, v in attempt.versions.items() if n.lower() in _LIBRARIES)
    yield "date", f"{attempt.started:%Y-%m-%d %H:%M} UTC"
    yield "duration", duration_text(seconds or None)
    yield "host", attempt.host
    yield "made by", f"audioloom-{attempt.producer.stage} {attempt.producer.version}"
    yield "versions", ", ".join(libraries)
    names = list[str]()
    left = [(reference, root) for reference in inputs]
    while left and len(names) < _MOST_INPUTS:
        reference, above = left.pop(0)
        names.append(f"{reference.kind} {reference.name}")
        with suppress(ManifestError, StorageError):
            found = read_manifest(resolve_input(reference, above))
            left += [(each, found.root) for each in found.manifest.inputs]
            if isinstance(found.manifest, FeaturesManifest):
                stats = found.manifest.stats
                names[-1] += f" (recordings used: {stats.extracted:,}, refused: {stats.refused:,})"
    yield "made from", safe_text(", ".join(names) + (", …" if left else ""))
