"""The entries of the manifest and the report for each scored split."""

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
    """Return a split's scores for the manifest: the model's own, accuracy and baselines.

    Args:
        shard_set: the shards of the split.
        name: name of the split.
        scores: loss and the model's metrics.
        confusion: (true class, predicted class).
        train: the training split; its most frequent label is the majority guess.
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
    """Return the evaluation of all scored splits.

    Args:
        shard_set: the shards of the splits.
        scores: results of `split_scores`, by split.
        counts: counts of the predictions, by split.
        worst: origins of the worst records of each split, in the order of its counts.

    Returns:
        The scores of each split; for classes also the confusion matrix, precision and recall,
        calibration and the records of the highest loss. Also the criterion of the splits.
    """
    splits: dict[str, Any] = {}
    for name, found in scores.items():
        splits[name] = {"records": shard_set.splits[name].layout.total, "scores": dict(found)}
        if shard_set.classes is not None:
            counted = counts[name]
            splits[name]["confusion"] = counted.confusion.tolist()
            splits[name]["classes"] = class_table(counted.confusion, shard_set.labels)
            # Outputs that are no probabilities have no confidence.
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
    """Add the baseline of always answering the mean to an evaluation of numbers.

    The baseline is not in the run's file: shards of contract 1.0 lack the mean, but must give the
    same run.

    Args:
        evaluation: result of `evaluation_report`.
        shard_set: the shards of the splits.
        train: the training split.
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
