"""The entries of the manifest and the report for each scored split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audioloom_trainer.evaluation.origins import origins
from audioloom_trainer.evaluation.scores import (
    Accumulator,
    baselines,
    calibration,
    class_table,
    confusion_accuracy,
)
from audioloom_trainer.shards.shard_set import ShardSet, Split


@dataclass(frozen=True)
class SplitEvaluation:
    """The scores and counts of one split."""

    scores: dict[str, float]
    """Loss and the model's metrics."""
    counts: Accumulator
    """Of its predictions; empty where numbers are learned."""


def evaluation_report(
    shard_set: ShardSet, evaluated: Mapping[str, SplitEvaluation], train: Split
) -> dict[str, Any]:
    """Return the evaluation of all scored splits; the commonest label of *train* is a guess.

    Returns:
        The scores of each split; for classes also the confusion matrix, precision and recall,
        calibration and the records of the highest loss. Also the criterion of the splits.
    """
    splits: dict[str, Any] = {}
    for name, each in evaluated.items():
        counts, labels = each.counts, shard_set.labels
        scores = split_scores(shard_set, name, each.scores, counts.confusion, train=train)
        splits[name] = {"records": shard_set.splits[name].layout.total, "scores": scores}
        if shard_set.classes is not None:
            splits[name]["confusion"] = counts.confusion.tolist()
            splits[name]["classes"] = class_table(counts.confusion, labels)
            # Outputs that are no probabilities have no confidence.
            splits[name]["calibration"] = None if counts.improper else calibration(counts.bins)
            splits[name]["worst"] = _worst(shard_set, name, counts)
    return {
        "labels": list(shard_set.labels),
        "splits_by": shard_set.splits_by,
        "splits": splits,
    }


def split_scores(
    shard_set: ShardSet,
    name: str,
    scores: Mapping[str, float],
    confusion: NDArray[np.int64],
    *,
    train: Split,
) -> dict[str, float]:
    """Return a split's scores for the manifest: the model's own, accuracy and baselines."""
    found = dict(scores)
    if shard_set.classes is not None:
        found.setdefault("accuracy", confusion_accuracy(confusion))
        labels = dict.fromkeys(shard_set.labels, 0) | train.labels
        found.update(baselines(labels, shard_set.splits[name].labels))
    return {key: value for key, value in found.items() if np.isfinite(value)}


def with_mean_baseline(
    evaluation: Mapping[str, Any], shard_set: ShardSet, *, train: Split
) -> dict[str, Any]:
    """Add the baseline of always answering the mean to an evaluation of numbers.

    The baseline is not in the run's file: shards of contract 1.0 lack the mean, but must give the
    same run.
    """
    splits = {}
    for name, found in evaluation["splits"].items():
        own, learnt = shard_set.split(name).targets, train.targets
        scores = dict(found["scores"])
        if own is not None and learnt is not None:
            scores["mse_of_mean"] = own.variance + (own.mean - learnt.mean) ** 2
        splits[name] = {**found, "scores": scores}
    return {**evaluation, "splits": splits}


def _worst(shard_set: ShardSet, name: str, counts: Accumulator) -> list[dict[str, Any]]:
    labels, rows = shard_set.labels, counts.worst.tolist()
    found = origins(shard_set, shard_set.split(name), counts.worst[:, 0])
    return [
        {
            **origin,
            "label": labels[int(label)],
            "predicted": labels[int(predicted)],
            "loss": loss,
            "confidence": confidence,
        }
        for origin, (_, label, predicted, loss, confidence) in zip(found, rows, strict=True)
    ]
