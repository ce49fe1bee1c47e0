"""Decide the copies of each window if labels are resampled: two scans before the main scan.

The first scan counts hashes by label and bin. The second scan fetches the hashes of the bins in
which the thresholds lie. The file bounds a unit's answer, and the labels bound the memory here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from audioloom_stage import progress
from audioloom_storage import Location

from audioloom_sharder.balance.resampling import (
    Cut,
    Histograms,
    copies_per_label,
    count_labels,
    find_cuts,
    hashes_in_cuts,
    sum_histograms,
)
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.windows.rules import Rules
from audioloom_sharder.windows.selection import Windows, resampled_windows

_MOST_LABELS = 10_000

Unit = TypeVar("Unit")


def resampled(
    rules: Rules,
    units: Sequence[Unit],
    windows: Callable[[Unit], Windows],
    reads: Callable[[Unit], Location],
    run_units: RunUnits,
) -> Rules:
    """Return the rules, with the copies of each label if resampling is requested.

    Args:
        rules: with all names of splits.
        units: one unit per features file.
        windows: the windows of a unit's file (`windows_of`).
        reads: returns the file of a unit.
        run_units: runs the units.

    Raises:
        InvalidOption: there is no split to train on.
        BadFeatures: there are too many labels to hold a histogram of each.
    """
    if rules.resample == "none":
        return rules
    with progress(len(units), "counting labels", "files") as bar:
        histograms = sum_histograms(
            bar.over(run_units(units, partial(_count, rules, windows), reads))
        )
    if len(histograms) > _MOST_LABELS:
        raise BadFeatures(
            expected=f"at most {_MOST_LABELS:,} labels to resample",
            found=f"{len(histograms):,}",
            hint="See --resample and --only-labels.",
        )
    cuts = find_cuts(histograms, rules.resample)
    near: dict[str, list[int]] = {label: [] for label in cuts}
    if cuts:
        with progress(len(units), "finding thresholds", "files") as bar:
            for found in bar.over(run_units(units, partial(_hashes, rules, windows, cuts), reads)):
                for label, hashes in found.items():
                    near[label] += hashes
    counts = {label: int(each.sum()) for label, each in histograms.items()}
    return replace(rules, resampling=copies_per_label(counts, rules.resample, cuts, near))


def _count(rules: Rules, windows: Callable[[Unit], Windows], unit: Unit) -> Histograms:
    return count_labels(*resampled_windows(windows(unit), rules))


def _hashes(
    rules: Rules, windows: Callable[[Unit], Windows], cuts: Mapping[str, Cut], unit: Unit
) -> dict[str, list[int]]:
    return hashes_in_cuts(*resampled_windows(windows(unit), rules), cuts)
