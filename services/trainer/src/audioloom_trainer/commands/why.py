"""`why`: say why `run` would train again, without TensorFlow."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.attempts import new_attempt
from audioloom_runs.why import Options, why
from audioloom_stage.result import Result

from audioloom_trainer.models.source import ModelSource, find_model
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.training.spec import make_plan

_NAMES = {
    "algorithm": "the revision of the algorithm",
    "callbacks.arguments": "--callback-arg",
    "callbacks.function": "--callbacks",
    "callbacks.revision": "the revision of --callbacks",
    "callbacks.sha256": "the file of --callbacks",
    "model.arguments": "--model-arg",
    "model.function": "--model",
    "model.revision": "the revision of --model",
    "model.sha256": "the file of --model",
}
_LIBRARIES = ("keras", "numpy", "tensorflow", "tensorflow-cpu")


def explain(settings: RunSettings) -> Result:
    """Compare the training that the settings ask for with the nearest finished one."""
    model = find_model(settings.model)
    callbacks = find_model(settings.callbacks, "--callbacks") if settings.callbacks else None
    plan = make_plan(settings, model, callbacks, read_manifest(settings.shards, expect="shards"))
    attempt = new_attempt("trainer", {}, libraries=_LIBRARIES)
    if version := attempt.versions.pop("tensorflow-cpu", None):  # a run notes what it imported
        attempt.versions["tensorflow"] = version
    sources = [model] if callbacks is None else [model, callbacks]
    return why(plan, attempt, Options(settings, _NAMES), partial(_changed_files, sources))


def _changed_files(
    sources: list[ModelSource], nearest: Opened[TrainingRunManifest]
) -> Iterator[str]:
    """Yield which files of the functions differ from those that the run keeps."""
    recipe = nearest.manifest.recipe
    for source, before in zip(sources, (recipe.model, recipe.callbacks), strict=False):
        if before is None or before.sha256 is None or source.sha256 == before.sha256:
            continue
        folder = f"source/{before.sha256[:12]}/"
        kept = {
            (entry.path.removeprefix(folder), entry.sha256)
            for entry in nearest.files("source")
            if entry.path.startswith(folder)
        }
        now = {(name, sha256(data).hexdigest()) for name, data in source.files}
        if kept:
            yield f"files that differ: {', '.join(sorted({name for name, _ in kept ^ now}))}"
