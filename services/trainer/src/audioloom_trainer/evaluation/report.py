"""What the manifest and the report say of each split that was scored."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.evaluation.accumulator import Accumulator
from audioloom_trainer.evaluation.calibration import calibration
from audioloom_trainer.evaluation.origins import Origin
from audioloom_trainer.evaluation.scores import baselines, class_table, confusion_accuracy
from audioloom_trainer.shards.shard_set import ShardSet, Split


def split_scores(
    shard_set: ShardSet,
    name: str,
    scores: Mapping[str, float],
    confusion: NDArray[np.int64],
    *,
    train: Split,
) -> dict[str, float]:
    """A split's scores as the manifest keeps them: the model's own, accuracy, and guessing.

    Args:
        shard_set: what the split belongs to.
        name: of the split.
        scores: loss and the model's metrics.
        confusion: (true class, predicted class).
        train: what the model was trained on, whose favourite label is the best blind guess.
    """
    found = dict(scores)
    if shard_set.classes is not None:
        found.setdefault("accuracy", confusion_accuracy(confusion))
        labels = dict.fromkeys(shard_set.labels, 0) | train.labels
        found.update(baselines(labels, shard_set.splits[name].labels))
    return {key: value for key, value in found.items() if np.isfinite(value)}


def evaluation_report(
    shard_set: ShardSet,
    scores: Mapping[str, Mapping[str, float]],
    counts: Mapping[str, Accumulator],
    worst: Mapping[str, Sequence[Origin]],
) -> dict[str, Any]:
    """What is known of each split that was scored.

    Args:
        shard_set: what the splits belong to.
        scores: as `split_scores` gives them, by split.
        counts: of the predictions, by split.
        worst: where the worst records of each split come from, in its order.

    Returns:
        For each split the scores; for classes also the confusion matrix, shares of each class,
        calibration and the records of the highest loss. And what the splits were made by.
    """
    splits: dict[str, Any] = {}
    for name, found in scores.items():
        splits[name] = {"records": shard_set.splits[name].layout.total, "scores": dict(found)}
        if shard_set.classes is not None:
            counted = counts[name]
            splits[name]["confusion"] = counted.confusion.tolist()
            splits[name]["classes"] = class_table(counted.confusion, shard_set.labels)
            # Of outputs that are no probabilities nobody can say how sure they are.
            splits[name]["calibration"] = None if counted.improper else calibration(counted.bins)
            splits[name]["worst"] = _worst(shard_set.labels, counted, worst[name])
    return {
        "labels": list(shard_set.labels),
        "splits_by": shard_set.splits_by,
        "splits": splits,
    }


def with_mean_baseline(
    evaluation: Mapping[str, Any], shard_set: ShardSet, *, train: Split
) -> dict[str, Any]:
    """An evaluation and, where numbers are learned, what always answering their mean reaches.

    That is not in the file: shards of contract 1.0 do not say it, and from them comes the same run.

    Args:
        evaluation: as `evaluation_report` gives it.
        shard_set: what the splits belong to.
        train: what the model was trained on.
    """
    splits = {}
    for name, found in evaluation["splits"].items():
        own, learnt = shard_set.split(name).targets, train.targets
        scores = dict(found["scores"])
        if own is not None and learnt is not None:
            scores["mse_of_mean"] = own.variance + (own.mean - learnt.mean) ** 2
        splits[name] = {**found, "scores": scores}
    return {**evaluation, "splits": splits}


def _worst(
    labels: Sequence[str], counted: Accumulator, found: Sequence[Origin]
) -> list[dict[str, str | int | float]]:
    return [
        {
            "path": origin.path,
            "window": origin.window,
            "channel": origin.channel,
            "label": labels[int(label)],
            "predicted": labels[int(predicted)],
            "loss": loss,
            "confidence": confidence,
        }
        for origin, (_, label, predicted, loss, confidence) in zip(
            found, counted.worst.tolist(), strict=True
        )
    ]
