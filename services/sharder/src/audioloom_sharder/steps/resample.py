"""Find the numbers of a resampling: two scans of the features before the one that everything uses.

The first counts hashes by label and bin, the second fetches the hashes of the bins in which the
thresholds lie. What a unit answers is bounded by its file, and what is kept here by the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from audioloom_stage import progress
from audioloom_storage import Location

from audioloom_sharder.balance.resampling import (
    Cut,
    Tally,
    copies_of,
    inside,
    joined,
    tally,
    where_cut,
)
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.windows.metadata_scan import Looked, to_be_resampled
from audioloom_sharder.windows.rules import Rules

_MOST_LABELS = 10_000

Unit = TypeVar("Unit")


def resampled(
    rules: Rules,
    units: Sequence[Unit],
    looked: Callable[[Unit], Looked],
    reads: Callable[[Unit], Location],
    run_units: RunUnits,
) -> Rules:
    """The rules with the numbers of their resampling, when one was asked for.

    Args:
        rules: the run's, with the splits named.
        units: one for each features file.
        looked: what `scan.look` says of a unit's file.
        reads: which file that is.
        run_units: what runs units.

    Raises:
        BadSplit: no split is trained on.
        BadFeatures: there are too many labels to hold a histogram of each.
    """
    if rules.resample == "none":
        return rules
    with progress(len(units), "counting labels", "files") as bar:
        histograms = joined(bar.over(run_units(units, partial(_tally, rules, looked), reads)))
    if len(histograms) > _MOST_LABELS:
        raise BadFeatures(
            expected=f"at most {_MOST_LABELS:,} labels to resample",
            found=f"{len(histograms):,}",
            hint="See --resample and --only-labels.",
        )
    cuts = where_cut(histograms, rules.resample)
    near: dict[str, list[int]] = {label: [] for label in cuts}
    if cuts:
        with progress(len(units), "finding thresholds", "files") as bar:
            for found in bar.over(run_units(units, partial(_inside, rules, looked, cuts), reads)):
                for label, hashes in found.items():
                    near[label] += hashes
    counts = {label: int(each.sum()) for label, each in histograms.items()}
    return replace(rules, resampling=copies_of(counts, rules.resample, cuts, near))


def _tally(rules: Rules, looked: Callable[[Unit], Looked], unit: Unit) -> Tally:
    return tally(*to_be_resampled(looked(unit), rules))


def _inside(
    rules: Rules, looked: Callable[[Unit], Looked], cuts: Mapping[str, Cut], unit: Unit
) -> dict[str, list[int]]:
    return inside(*to_be_resampled(looked(unit), rules), cuts)
