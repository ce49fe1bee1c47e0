"""`verify`: read a committed run again and check every claim of its manifest, without TensorFlow.

The reader of the manifest checks the run's identity. This module checks the size and checksum of
every file, then compares their content with the manifest and with the shards of the training.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from math import gcd, isclose, nan
from typing import Annotated

import numpy as np
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.file_list import check_file, check_files
from audioloom_manifest.kinds import ShardsManifest, TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import BadData
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.logs import bind
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import Result
from audioloom_stage.terminal import counted
from audioloom_storage import Location, StorageError, exists
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from audioloom_trainer.errors import DamagedRun
from audioloom_trainer.evaluation.scores import (
    baselines,
    class_table,
    count_by_class,
    share_of_right,
)
from audioloom_trainer.input.batches import steps_of
from audioloom_trainer.runs.checkpoint import RECORD_NAME, checkpoint_folders, read_commit
from audioloom_trainer.runs.committed_run import (
    evaluate_command,
    export_command,
    read_role,
    read_trained_on,
)
from audioloom_trainer.runs.npz import BadArrays, load_arrays
from audioloom_trainer.settings import VerifySettings
from audioloom_trainer.training.spec import recipe_digest

_SHOWN = 20
_OF_THE_SHARDS = "mse_of_mean"
"""The score that stands in the manifest alone: what it is worth is said by newer shards."""
_ACCURACY = "accuracy"
_ADDED_UP = 1e-3
"""By how much Keras's sums in float32 may miss a share of many records."""


def verify(settings: VerifySettings) -> Result:
    """Check a training run; exit code 65 and a list when something is wrong."""
    opened = read_manifest(settings.run, expect="training-run")
    bind(run=opened.manifest.name)
    entries = opened.files()
    with progress(len(entries), "checking", "files") as bar:
        problems = [str(each) for each in check_files(opened.folder, bar.over(entries))]
    whole = not problems
    if whole:  # the content of damaged files proves nothing
        problems += _contents(opened)
    checkpoints = [entry.location for entry in checkpoint_folders(opened.folder)]
    problems += _of_checkpoints(opened, checkpoints)
    if settings.inputs:
        problems += _of_inputs(opened, whole=whole)
    size = sum(entry.bytes for entry in entries)
    told = "" if settings.inputs else " (inputs not read)"
    lines = [
        f"{opened.folder}: {counted(len(entries), 'files')}, {size:,} bytes,"
        f" {counted(len(checkpoints), 'checkpoints')},"
        f" scores of {counted(len(opened.manifest.stats.scores), 'splits')}:"
        f" all as the manifest says{told}"
    ]
    if problems:
        more = len(problems) - _SHOWN
        lines = [f"{opened.folder}: {counted(len(problems), 'problems')}", *problems[:_SHOWN]]
        lines += [f"and {more} more"] if more > 0 else []
    return Result(
        text="\n".join(lines),
        data={
            "location": str(opened.location),
            "files": len(entries),
            "bytes": size,
            "checkpoints": len(checkpoints),
            "inputs_read": settings.inputs,
            "problems": problems,
        },
        exit_code=ExitCode.BAD_DATA if problems else ExitCode.DONE,
        problem=f"{len(problems)} problems",
        next=() if problems else (evaluate_command(opened), export_command(opened)),
    )


# The checked fields of the files; a later release may write more.
class _History(BaseModel):
    epochs: list[dict[str, FiniteFloat]]


_Share = Annotated[float, Field(ge=0, le=1)]


class _Class(BaseModel):
    label: str
    records: int = Field(ge=0)
    precision: _Share | None
    recall: _Share | None


class _Scored(BaseModel):
    records: int
    scores: dict[str, FiniteFloat]
    confusion: list[list[int]] | None = None
    classes: list[_Class] | None = None

    @property
    def true(self) -> list[int] | None:
        """The records of each class; None for numbers."""
        if self.confusion is not None:
            return [sum(row) for row in self.confusion]
        return None if self.classes is None else [each.records for each in self.classes]


class _Evaluation(BaseModel):
    labels: list[str]
    splits: dict[str, _Scored]


def _contents(opened: Opened[TrainingRunManifest]) -> Iterator[str]:
    for role, check in (
        ("weights", _of_weights),
        ("model", _of_model),
        ("history", _of_history),
        ("evaluation", _of_evaluation),
    ):
        if role == "model" and not opened.files(role):
            continue  # Keras could not write it
        try:
            found = list(check(opened, read_role(opened, role)))
        # ValidationError is a ValueError; the others are of numbers and of nesting without bounds.
        except (BadArrays, DamagedRun, ValueError, OverflowError, RecursionError) as error:
            found = [_short(error)]
        yield from (f"{role}: {problem}" for problem in found)


def _of_weights(opened: Opened[TrainingRunManifest], data: bytes) -> Iterator[str]:
    arrays = load_arrays(data)
    expected = opened.manifest.stats.parameters
    if (found := sum(array.size for array in arrays.values())) != expected:
        yield f"expected {expected:,} parameters, found {found:,}"
    for name, array in arrays.items():
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            yield f"expected finite values of {name}, found others"


def _of_model(_: Opened[TrainingRunManifest], data: bytes) -> Iterator[str]:
    if not isinstance(json.loads(data), dict):
        yield "expected the architecture as a JSON object"


def _of_history(opened: Opened[TrainingRunManifest], data: bytes) -> Iterator[str]:
    numbers = [each.get("epoch") for each in _History.model_validate_json(data).epochs]
    recipe, steps = opened.manifest.recipe, opened.manifest.stats.steps
    # Only callbacks end a training early. The history of a resumed training has all its epochs.
    least, told = (recipe.epochs, "") if recipe.callbacks is None else (1, " or fewer")
    in_order = numbers == list(range(1, len(numbers) + 1))
    if not in_order or not least <= len(numbers) <= recipe.epochs:
        yield f"expected the epochs 1 to {recipe.epochs}{told}, found {numbers[:50]}"
    elif steps % len(numbers) or not steps:
        yield f"expected {steps:,} steps in whole epochs, found {len(numbers)} epochs"


def _of_evaluation(opened: Opened[TrainingRunManifest], data: bytes) -> Iterator[str]:
    evaluation = _Evaluation.model_validate_json(data)
    claimed = {
        name: {key: value for key, value in scores.items() if key != _OF_THE_SHARDS}
        for name, scores in opened.manifest.stats.scores.items()
    }
    if (found := {name: each.scores for name, each in evaluation.splits.items()}) != claimed:
        yield f"expected the scores of the manifest, {claimed}, found {found}"
    labels = evaluation.labels
    counted = _is_counted(opened, len(labels))
    for name, split in evaluation.splits.items():
        if split.confusion is not None:
            problem, share = _of_table(split.confusion, split, labels)
        elif split.classes is not None:
            problem, share = _of_classes(split.classes, split, labels)
        else:
            continue
        said = split.scores.get(_ACCURACY, nan)
        if problem:
            yield f"{problem} of {name}"
        elif counted and not isclose(said, share, abs_tol=_ADDED_UP):
            yield f"expected the accuracy of the table of {name}, {share:.4f}, found {said:.4f}"


def _of_table(table: list[list[int]], split: _Scored, labels: list[str]) -> tuple[str, float]:
    """Return the problem of a confusion matrix, or "", and its accuracy."""
    matrix, classes = np.array(table, np.int64), len(labels)
    square = matrix.shape == (classes, classes)
    if not square or matrix.sum() != split.records or (matrix < 0).any():
        return f"expected {split.records:,} records of {classes} classes in the table", nan
    by_class = count_by_class(matrix)
    shares = None if split.classes is None else [each.model_dump() for each in split.classes]
    if shares is not None and shares != class_table(by_class, labels):
        return "expected the shares of each class as in the table", nan
    return "", share_of_right(by_class)


def _of_classes(found: list[_Class], split: _Scored, labels: list[str]) -> tuple[str, float]:
    """Return the problem of the classes, or "", and their accuracy, where no matrix was kept."""
    true = sum(each.records for each in found)
    if true != split.records or [each.label for each in found] != labels:
        return f"expected {split.records:,} records of {len(labels)} classes in the table", nan
    right = sum((each.recall or 0) * each.records for each in found)
    return "", right / max(1, true)


def _is_counted(opened: Opened[TrainingRunManifest], classes: int) -> bool:
    """Return whether accuracy must equal the share of records that are right.

    False if in doubt: a metric of the user's own may be called accuracy too, and Keras's accuracy
    takes the single output of two classes for a probability even if it is a logit.
    """
    if not any(_ACCURACY in each for each in _history(opened).epochs):
        return True  # the model has no metric of this name
    model = json.loads(read_role(opened, "model")) if opened.files("model") else None
    match model:
        case {"compile_config": {"metrics": [*metrics], "loss": loss}}:
            by_name = isinstance(loss, str)  # a loss given by name takes probabilities
            return _ACCURACY in metrics and (by_name or classes > 2)  # noqa: PLR2004
    return False


def _history(opened: Opened[TrainingRunManifest]) -> _History:
    return _History.model_validate_json(read_role(opened, "history"))


def _of_checkpoints(
    opened: Opened[TrainingRunManifest], checkpoints: list[Location]
) -> Iterator[str]:
    """Check the run's checkpoints that have a commit record: of this run, and whole."""
    manifest = opened.manifest
    recipe = recipe_digest(manifest.recipe, [each.identity for each in manifest.inputs])
    for folder in checkpoints:
        if (commit := read_commit(folder)) is None:
            if exists(folder / RECORD_NAME):
                yield f"{folder / RECORD_NAME}: expected the record of a checkpoint"
            continue
        if commit.recipe != recipe:
            yield f"{folder}: expected a checkpoint of this recipe and these shards"
        if commit.step > manifest.stats.steps:
            most = manifest.stats.steps
            yield f"{folder}: expected at most {most:,} steps, found {commit.step:,}"
        state = commit.state
        entry = FileEntry(path=state.name, bytes=state.bytes, sha256=state.sha256, role="state")
        try:
            check_file(folder, entry)
        except ManifestError as error:
            yield str(error)


def _of_inputs(opened: Opened[TrainingRunManifest], *, whole: bool) -> Iterator[str]:
    """Check the shards, whose identity is part of the run's, and the run's numbers against them."""
    try:
        shards = read_trained_on(opened).manifest
    except (ManifestError, StorageError, BadData) as error:
        yield f"input: {_short(error)}"
        return
    if "train" not in shards.stats.splits:
        yield "input: expected shards with the split train"
        return
    if whole:
        with suppress(DamagedRun, ValueError):  # already reported as an error of the file
            for what, expected, found in _checks(opened, shards):
                if found != expected:
                    yield f"input: {what}: expected {expected!s:.300}, found {found!s:.300}"


def _checks(
    opened: Opened[TrainingRunManifest], shards: ShardsManifest
) -> list[tuple[str, object, object]]:
    """Return numbers of a run by name, as its shards have them and as the run has them."""
    stats, batch = opened.manifest.stats, opened.manifest.recipe.batch_size
    splits, train = shards.stats.splits, shards.stats.splits["train"]
    labels = list(shards.stats.labels) if shards.recipe.target == "label" else []
    epochs = len(_history(opened).epochs)
    evaluation = _Evaluation.model_validate_json(read_role(opened, "evaluation"))
    checks: list[tuple[str, object, object]] = [
        (f"records of {epochs} epochs", epochs * train.records, stats.records),
        (f"steps of {epochs} epochs", epochs * steps_of(train.records, batch), stats.steps),
        (f"replicas for {train.lanes} lanes", gcd(train.lanes, stats.replicas), stats.replicas),
        ("labels", labels, evaluation.labels),
        ("splits", sorted(splits.keys() - {"train"}), sorted(evaluation.splits)),
    ]
    for name, found in evaluation.splits.items():
        if (split := splits.get(name)) is None:
            continue  # already reported
        true = [split.labels.get(label, 0) for label in labels] or None
        learnt = dict.fromkeys(labels, 0) | train.labels
        guessing = baselines(learnt, split.labels) if labels else {}
        claimed = stats.scores.get(name, {})
        checks += [
            (f"records of {name}", split.records, found.records),
            (f"records of each class in the table of {name}", true, found.true),
            (f"guessing on {name}", guessing, {key: claimed.get(key) for key in guessing}),
        ]
    return checks


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
