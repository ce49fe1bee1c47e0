"""`why`: say why `run` would train again, without TensorFlow."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened
from audioloom_runs.attempts import new_attempt
from audioloom_runs.why import Options, why
from audioloom_stage.result import Result

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.runs.layout import Launch
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.training.spec import RunSpec, make_spec

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
    spec = make_spec(settings, Cluster(), Launch())
    attempt = new_attempt("trainer", {}, libraries=_LIBRARIES)
    if version := attempt.versions.pop("tensorflow-cpu", None):  # a run notes what it imported
        attempt.versions["tensorflow"] = version
    return why(spec.plan, attempt, Options(settings, _NAMES), partial(_changed_files, spec))


def _changed_files(spec: RunSpec, nearest: Opened[TrainingRunManifest]) -> Iterator[str]:
    """Yield which files of the functions differ from those that the run keeps."""
    recipe = nearest.manifest.recipe
    for source, before in ((spec.model, recipe.model), (spec.callbacks, recipe.callbacks)):
        if source is None or before is None or source.sha256 == before.sha256:
            continue
        folder = f"source/{str(before.sha256)[:12]}/"
        kept = {
            (entry.path.removeprefix(folder), entry.sha256)
            for entry in nearest.files("source")
            if entry.path.startswith(folder)
        }
        now = {(name, sha256(data).hexdigest()) for name, data in source.files}
        if kept:
            yield f"files that differ: {', '.join(sorted({name for name, _ in kept ^ now}))}"
