from __future__ import annotations

import re
from html import unescape

from audioloom_manifest.kinds import ShardsManifest
from audioloom_runs.pages.shards import shards_sections
from page_runs import shards


def text(manifest: ShardsManifest) -> str:
    """What a reader sees of the sections."""
    shown = unescape(re.sub(r"<[^>]*>", " ", shards_sections(manifest)))
    return " ".join(shown.split())


SPLITS = {"val": {"b": 4}, "train": {"a": 9, "b": 3}}


def test_a_label_that_a_split_lacks_is_warned_about() -> None:
    """By its name."""
    assert "Labels without a record in val (1): a" in text(shards(["a", "b"], SPLITS))


def test_splits_come_in_the_order_of_all_pages() -> None:
    """Train first, with its share and the requested one."""
    shown = text(shards(["a", "b"], SPLITS))
    assert "train 12 75.0% 75.0%" in shown
    assert "val 4 25.0% 25.0%" in shown
    assert shown.index("train 12") < shown.index("val 4")


def test_labels_furthest_from_the_request_come_first() -> None:
    """Below the requested split; the page says how many of them it shows."""
    shown = text(shards(["a", "b"], SPLITS))
    assert "requested 75.0% 25.0% b 42.9% 57.1% 7 a 100.0% 0.0% 9" in shown
    labels = [f"l{n:03}" for n in range(1000)]
    even = {name: dict.fromkeys(labels, n) for name, n in (("train", 3), ("val", 1))}
    even["val"]["l777"] = 3
    shown = text(shards(labels, even))
    assert "requested 75.0% 25.0% l777 50.0% 50.0%" in shown
    assert "Of 1,000 labels, the 50 furthest from the first row." in shown


def test_splits_by_pattern_have_no_request() -> None:
    """Each label is compared with the shares that came out."""
    manifest = shards(["a", "b"], SPLITS)
    recipe = manifest.recipe.model_copy(update={"splits": {}, "split_pattern": "(?P<split>x)"})
    shown = text(manifest.model_copy(update={"recipe": recipe}))
    assert "split records share recordings" in shown
    assert "splits by a pattern" in shown
    assert "all labels 75.0% 25.0%" in shown


def test_of_many_splits_the_first_have_columns() -> None:
    """The bar shows all of them."""
    manifest = shards(["a"], {f"fold{n}": {"a": 4} for n in range(30)})
    assert "fold6 fold7 records requested" in text(manifest)
    assert 2 * 30 <= shards_sections(manifest).partition("Labels in each")[2].count("<rect")


def test_weights_numbers_and_windows_left_out_are_shown() -> None:
    """If there are any."""
    shown = text(shards(["a", "b"], SPLITS, class_weights={"a": 1.25}, excluded={"too short": 7}))
    assert "57.1% 7 1" in shown
    assert "0.0% 9 1.25" in shown
    assert "too short 7" in shown
    assert "No window was left out." in text(shards(["a"], SPLITS, excluded={"too short": 0}))


def test_values_are_compared_with_those_of_train() -> None:
    """In its deviations; one split has nothing to be compared with."""
    manifest = shards(["a", "b"], SPLITS)
    splits = manifest.stats.splits
    far = splits["val"].coefficients
    assert far is not None
    splits["val"] = splits["val"].model_copy(
        update={"coefficients": far.model_copy(update={"mean": (far.mean[0] + 1.5, far.mean[1])})}
    )
    lines = re.findall(r'<polyline points="([^"]*)"', shards_sections(manifest))
    assert 4 == len(lines)
    assert lines[0].split()[0] != lines[1].split()[0]
    assert lines[0].split()[1] == lines[1].split()[1]
    assert lines[2] == lines[3]
    assert "Values in each split" not in text(shards(["a"], {"train": {"a": 4}}))
