from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Any

from audioloom_manifest.feature_sample import FeatureSample
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_runs.pages.features import features_sections
from page_runs import features, sample


def text(manifest: FeaturesManifest, found: FeatureSample) -> str:
    """What a reader sees of the sections."""
    shown = re.sub(r"<title>[^<]*</title>", "", features_sections(manifest, found))
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def test_an_empty_run_is_told() -> None:
    """No empty chart, no division by zero."""
    manifest = features([])
    none: dict[str, Any] = {"recordings": {}, "seconds": [], "pictures": {}, "windows": 0}
    shown = text(
        manifest.model_copy(update={"stats": manifest.stats.model_copy(update={"windows": 0})}),
        sample([], [], **none, flags=Counter()),
    )
    for told in (
        "There are no windows.",
        "No recording tells its length.",
        "No recording was refused.",
    ):
        assert told in shown
    assert "No values were read" in shown


def test_counts_that_contradict_one_another_make_a_page() -> None:
    """A forged manifest or file must not end the site about all other runs."""
    manifest = features(["a"], refusals={"none": 0})
    counts = {"labels": {"a": 0}, "recordings": 0, "windows": 0, "refused": 7}
    forged = manifest.model_copy(update={"stats": manifest.stats.model_copy(update=counts)})
    found = sample(["a"], ["g"], seconds=[float("nan"), -1.0, 0.0, 1e300], windows=0)
    assert "No recording tells its length." in text(forged, found)


def test_recordings_without_label_or_group_are_told() -> None:
    """In a row of their own, and with what follows from it."""
    shown = text(features([]), sample([None], [None]))
    assert "no label 10 1" in shown
    assert "No recording has a group" in shown
    assert "single group" not in shown


def test_a_label_of_one_group_is_warned_about() -> None:
    """Because a model can learn the speaker instead of the word."""
    counts = {"a": Counter(g1=3), "b": Counter(g1=1, g2=1), "c": Counter(g1=1)}
    found = sample(["a", "b", "c"], ["g1", "g2"], recordings=counts)
    assert "learn instead of the label (1): a" in text(features(["a", "b", "c"]), found)
    assert "single group" not in text(features(["a"]), sample(["a"], ["g1", "g2"]))


def test_of_many_labels_and_groups_the_largest_are_shown() -> None:
    """And the page says how many there are."""
    labels = [f"l{n}" for n in range(1000)]
    shown = text(features(labels), sample([*labels], [f"g{n}" for n in range(200)]))
    assert "Of 1,000 labels, the 50 with most windows." in shown
    assert "Of 1,000 labels, the 12 with most windows." in shown
    assert "the largest 48 of 200 groups: g0 (1,000), g1 (1,000)" in shown
    assert "l49 10 200 200" in shown
    assert "l50 " not in shown


def test_refusals_have_examples() -> None:
    """The most frequent class first, with path and message; a class without examples too."""
    found = sample(["a"], ["g"], refusals={"empty": [("a/1.wav", "no bytes")]})
    shown = text(features(["a"], refusals={"rare": 1, "empty": 3}), found)
    assert "empty a/1.wav no bytes 3" in shown
    assert shown.index("empty a/1") < shown.index("rare 1")
    assert "4 of 14 recordings were refused (28.57%)" in shown


def test_a_page_says_what_it_rests_on() -> None:
    """A part of the run, or all of it."""
    manifest = features(["a"])
    assert "7 of 10 windows, from 2 of 9 files" in text(manifest, sample(["a"], ["g"]))
    whole = sample(["a"], ["g"], files=9, windows=10)
    assert "counted in all 10 windows" in text(manifest, whole)


def test_levels_are_told_beside_what_they_mean() -> None:
    """Normalised windows have no loudness."""
    shown = text(features(["a"]), sample(["a"], ["g"]))
    assert "a 3 -1 0 1" in shown
    assert "Each window has mean 0 and deviation 1" in shown
