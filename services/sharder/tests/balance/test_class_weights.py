"""Class weights: what is read of the wish, what becomes of it, and who checks it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_sharder.balance.class_weights import parse_weights, weights_of, weights_text
from hypothesis import given
from hypothesis import strategies as st
from manifest_editing import write_manifest
from sharder_features import Window, make_features, windows

# 90 of a, 45 of b, 15 of c, each of a speaker of its own.
UNEVEN = [
    Window(f"{i:03d}.wav", label="aaaaaabbbc"[i % 10], group=f"speaker {i}") for i in range(150)
]


@pytest.mark.parametrize(
    "text", ["", "even", "a", "a=", "a=x", "a=0", "a=-1", "a=inf", "a=1,,b=2", "a=1,a=2", "=1"]
)
def test_what_is_no_weight_is_refused(text: str) -> None:
    """Neither a word that is known nor a label with a number above 0."""
    with pytest.raises(ValueError, match=r"LABEL=NUMBER|twice"):
        parse_weights(text)


def test_a_wish_is_read() -> None:
    """A label may hold an equals sign; the last one counts."""
    assert parse_weights("none") is None
    assert "balanced" == parse_weights("balanced")
    assert {"a": 1.0, "x=y": 2.5} == parse_weights("a=1, x=y=2.5")


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 10**7), min_size=1, max_size=50))
def test_balanced_labels_weigh_the_same(counts: dict[str, int]) -> None:
    """In all, and a record 1 on average: what scikit-learn calls balanced."""
    weights = weights_of("balanced", counts)
    assert weights is not None
    whole = [weights[label] * count for label, count in counts.items()]
    np.testing.assert_allclose(whole, sum(counts.values()) / len(counts))


def test_a_label_that_is_not_named_weighs_one() -> None:
    """As with Keras."""
    assert {"a": 3.0, "b": 1.0} == weights_of({"a": 3.0}, {"a": 5, "b": 7})
    assert weights_of(None, {"a": 5}) is None


def test_many_weights_are_shown_in_part() -> None:
    """The first eight, and that there are more."""
    assert "a=1.333 b=2" == weights_text({"a": 4 / 3, "b": 2.0})
    assert weights_text({f"{i:02d}": 1.0 for i in range(9)}).endswith("07=1 …")
    assert "" == weights_text(None)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--class-weights", "a=0"], 2, "not LABEL=NUMBER"),
        (["--class-weights", "balanced", "--target", "number"], 2, "--target number learns none"),
        (["--class-weights", "z=2"], 65, "a class weight for 'z'"),
        (["--class-weights", "balanced", "--split", "x=0.5,y=0.5"], 2, "no split is named 'train'"),
    ],
)
def test_weights_that_could_not_count_are_refused(
    sharder: Callable, tmp_path: Path, words: list[str], code: int, text: str
) -> None:
    """A misspelt label, numbers, splits that nobody trains on."""
    features = make_features(tmp_path, [UNEVEN])
    ran = sharder("run", features.folder, *words)
    assert (code, True) == (ran.code, text in ran.err), ran.err


def test_weights_are_those_of_train(sharder: Callable, tmp_path: Path) -> None:
    """By its counts alone, the same in plan, run and inspect; the shards do not change."""
    features = make_features(tmp_path, [UNEVEN[:40], UNEVEN[40:]])
    plain = read_manifest(sharder("run", features.folder).out.strip(), "shards")
    words = ("--class-weights", "balanced")
    planned = sharder("plan", features.folder, *words, "--json").data
    ran = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    counts = ran.manifest.stats.splits["train"].labels
    expected = {
        label: sum(counts.values()) / (len(counts) * count) for label, count in counts.items()
    }
    assert expected == ran.manifest.stats.class_weights == planned["class_weights"]
    assert "balanced" == ran.manifest.recipe.class_weights
    assert plain.files() == ran.files()
    assert plain.manifest.stats.class_weights is None
    for text in (
        sharder("plan", features.folder, *words).out,
        sharder("inspect", ran.folder).out,
    ):
        assert weights_text(expected) in text
    assert expected == sharder("inspect", ran.folder, "--json").data["class_weights"]
    assert 0 == sharder("verify", ran.folder).code


def test_weights_of_the_only_split(sharder: Callable, tmp_path: Path) -> None:
    """Whatever its name; by hand, and what is not named weighs 1."""
    features = make_features(tmp_path, [UNEVEN])
    words = ("--split", "everything=1", "--class-weights", "c=6")
    ran = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    assert {"a": 1.0, "b": 1.0, "c": 6.0} == ran.manifest.stats.class_weights


def test_a_weight_that_does_not_follow_is_found(sharder: Callable, tmp_path: Path) -> None:
    """Changed, or taken away."""
    features = make_features(tmp_path, [UNEVEN])
    words = ("--class-weights", "balanced")
    opened = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    path = Path(opened.location.path)
    for change in ({"a": 9.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, None):
        value = json.loads(path.read_text())
        value["stats"]["class_weights"] = change
        write_manifest(path.parent, value, opened.files())
        ran = sharder("verify", opened.folder, "--no-inputs")
        assert (65, True) == (ran.code, "class weights: expected" in ran.out)


def test_labels_are_counted_shard_by_shard(sharder: Callable, tmp_path: Path) -> None:
    """In the list of files, as the records say; only for shards, not for their indexes."""
    features = make_features(tmp_path, [windows(90)])
    opened = read_manifest(sharder("run", features.folder, "--lanes", "4").out.strip(), "shards")
    names = opened.manifest.stats.labels
    for entry in opened.files("index"):
        ids = np.load(Path(opened.folder.path, entry.path))[:, 3].tolist()
        shard = next(
            one
            for one in opened.files("shard")
            if (one.split, one.shard) == (entry.split, entry.shard)
        )
        assert Counter(names[one] for one in ids) == shard.labels
        assert entry.labels is None


@pytest.mark.parametrize(("limit", "most"), [("MOST_COUNTED_LABELS", 2), ("MOST_COUNTS_BYTES", 9)])
def test_very_many_labels_are_not_counted_shard_by_shard(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """The list of files is to stay small; the split's counts are still held against the records."""
    monkeypatch.setattr(f"audioloom_sharder.steps.merge.{limit}", most)
    features = make_features(tmp_path, [windows(60)])
    opened = read_manifest(sharder("run", features.folder).out.strip(), "shards")
    assert {None} == {one.labels for one in opened.files()}
    assert 0 == sharder("verify", opened.folder).code


def test_wrong_counts_of_a_shard_are_found(sharder: Callable, tmp_path: Path) -> None:
    """Two shards whose counts are exchanged: the sum is right, each is not."""
    features = make_features(tmp_path, [windows(200, groups=100)])
    words = ("--lanes", "4", "--split", "train=1")
    opened = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    entries = {entry.path: entry for entry in opened.files()}
    one, *others = opened.files("shard")
    other = next(each for each in others if each.labels != one.labels)

    def relist(*changed: tuple[str, dict[str, int] | None]) -> None:
        new = [
            entry.model_copy(update={"labels": dict(changed)[entry.path]})
            if entry.path in dict(changed)
            else entry
            for entry in entries.values()
        ]
        write_manifest(Path(opened.folder.path), opened.manifest.to_json(), new)

    relist((one.path, other.labels), (other.path, one.labels))
    text = sharder("verify", opened.folder, "--no-inputs").out
    assert f"{one.path}: expected" in text
    assert f"{other.path}: expected" in text
    assert "in the list of files" not in text
    relist((one.path, {"a": 1}))
    assert "in the list of files" in sharder("verify", opened.folder, "--no-inputs").out
