"""Decide the copies of each window if labels are resampled: two scans before the main scan.

The first scan counts hashes by label and bin. The second scan fetches the hashes of the bins in
which the thresholds lie. The file bounds a unit's answer, and the labels bound the memory here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from audioloom_manifest.kinds import LabelCopies
from audioloom_stage.progress_bar import progress

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
from audioloom_sharder.rules import Rules
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.windows.selection import resampled_windows

_MOST_LABELS = 10_000


def resampled(rules: Rules, units: Sequence[SourceUnit], run_units: RunUnits) -> Rules:
    """Return the rules, with the copies of each label if resampling is requested.

    Raises:
        InvalidOption: there is no split to train on.
        BadFeatures: there are too many labels to hold a histogram of each.
    """
    way = rules.recipe.resample
    if way == "none":
        return rules
    with progress(len(units), "counting labels", "files") as bar:
        parts = run_units(units, partial(_count, rules))
        histograms = sum_histograms(bar.over(parts))
    if len(histograms) > _MOST_LABELS:
        raise BadFeatures(
            expected=f"at most {_MOST_LABELS:,} labels to resample",
            found=f"{len(histograms):,}",
            hint="See --resample and --only-labels.",
        )
    cuts = find_cuts(histograms, way)
    near: dict[str, list[int]] = {label: [] for label in cuts}
    if any(cut.bin >= 0 for cut in cuts.values()):
        with progress(len(units), "finding thresholds", "files") as bar:
            for found in bar.over(run_units(units, partial(_hashes, rules, cuts))):
                for label, hashes in found.items():
                    near[label] += hashes
    resampling = {
        label: LabelCopies(copies=copies, one_more_below=f"{bound:032x}")
        for label, (copies, bound) in copies_per_label(cuts, near).items()
    }
    return replace(rules, resampling=resampling)


def _count(rules: Rules, unit: SourceUnit) -> Histograms:
    return count_labels(*resampled_windows(unit.windows(rules), rules))


def _hashes(rules: Rules, cuts: Mapping[str, Cut], unit: SourceUnit) -> dict[str, list[int]]:
    return hashes_in_cuts(*resampled_windows(unit.windows(rules), rules), cuts)
