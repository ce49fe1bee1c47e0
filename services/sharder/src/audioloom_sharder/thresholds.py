"""Find the numbers of a resampling: two scans of the features before the one that everything uses.

The first counts hashes by label and bin, the second fetches the hashes of the bins in which the
thresholds lie. What a unit answers is bounded by its file, and what is kept here by the labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from audioloom_stage import progress

from audioloom_sharder.engine import RunUnits
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.features import read_identities
from audioloom_sharder.inputs import Source
from audioloom_sharder.resampling import Cut, Tally, copies_of, inside, joined, tally, where_cut
from audioloom_sharder.rows import Rules
from audioloom_sharder.scan import look, to_be_resampled

__all__ = ["resampled"]

_MOST_LABELS = 10_000


def resampled(rules: Rules, sources: Sequence[Source], run_units: RunUnits) -> Rules:
    """The rules with the numbers of their resampling, when one was asked for.

    Raises:
        BadSplit: no split is trained on.
        BadFeatures: there are too many labels to hold a histogram of each.
    """
    if rules.resample == "none":
        return rules
    reads = attrgetter("location")
    with progress(len(sources), "counting labels", "files") as bar:
        histograms = joined(bar.over(run_units(sources, partial(_tally, rules), reads)))
    if len(histograms) > _MOST_LABELS:
        raise BadFeatures(
            expected=f"at most {_MOST_LABELS:,} labels to resample",
            found=f"{len(histograms):,}",
            hint="See --resample and --only-labels.",
        )
    cuts = where_cut(histograms, rules.resample)
    near: dict[str, list[int]] = {label: [] for label in cuts}
    if cuts:
        with progress(len(sources), "finding thresholds", "files") as bar:
            for found in bar.over(run_units(sources, partial(_inside, rules, cuts), reads)):
                for label, hashes in found.items():
                    near[label] += hashes
    counts = {label: int(each.sum()) for label, each in histograms.items()}
    return replace(rules, resampling=copies_of(counts, rules.resample, cuts, near))


def _tally(rules: Rules, source: Source) -> Tally:
    return tally(*to_be_resampled(look(read_identities(source, rules.feature), rules), rules))


def _inside(rules: Rules, cuts: Mapping[str, Cut], source: Source) -> dict[str, list[int]]:
    found = look(read_identities(source, rules.feature), rules)
    return inside(*to_be_resampled(found, rules), cuts)
