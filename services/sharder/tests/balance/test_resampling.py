"""Resampling: the rule is exact, a function of label and hash alone, and nothing goes unseen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.records.example import decode
from audioloom_manifest.records.tfrecord import read
from audioloom_sharder.balance.resampling import (
    copies_of_windows,
    copies_per_label,
    count_labels,
    find_cuts,
    hashes_in_cuts,
    sum_histograms,
)
from hypothesis import given
from hypothesis import strategies as st
from manifest_editing import write_manifest
from sharder_features import Window, make_features

labels_of_windows = st.lists(st.sampled_from(["a", "b", "c", "dé"]), min_size=1, max_size=120)
ways = st.sampled_from(["under", "over"])


def _hashes(seed: int, count: int, spread: int) -> np.ndarray:
    """Distinct 128-bit numbers; a small *spread* crowds their high words into few bins."""
    high = np.random.default_rng(seed).integers(0, spread, count, dtype=np.uint64)
    return np.stack([high, np.arange(count, dtype=np.uint64)], axis=1)


@given(
    labels=labels_of_windows,
    way=ways,
    seed=st.integers(0, 99),
    spread=st.sampled_from([1, 3, 2**60, 2**64 - 1]),
    files=st.integers(1, 4),
)
def test_every_label_is_taken_equally_often(
    labels: list[str], way: str, seed: int, spread: int, files: int
) -> None:
    """Exactly, and its windows as evenly as can be; in whatever way they are cut into files."""
    hashes = _hashes(seed, len(labels), spread)
    parts = [
        ([labels[at] for at in some], hashes[some])
        for some in (np.arange(file, len(labels), files).tolist() for file in range(files))
    ]
    histograms = sum_histograms(count_labels(*part) for part in parts if part[0])
    cuts = find_cuts(histograms, way)  # type: ignore[arg-type]
    near: dict[str, list[int]] = {}
    for part in parts:
        for label, found in hashes_in_cuts(*part, cuts).items():
            near.setdefault(label, []).extend(found)
    counts = Counter(labels)
    rules = copies_per_label(cuts, near)
    times = copies_of_windows(labels, hashes, rules)
    aim = min(counts.values()) if way == "under" else max(counts.values())
    for label in counts:
        mine = times[[one == label for one in labels]]
        assert aim == mine.sum()
        assert mine.max() - mine.min() <= 1
        assert mine.max() <= 1 if way == "under" else mine.min() >= 1


def test_the_rule_is_that_of_a_sort() -> None:
    """The windows with the lowest hashes are taken once more, as sorting all of them would say."""
    labels = ["a"] * 7 + ["b"] * 3
    hashes = _hashes(5, 10, 2**64 - 1)
    histograms = sum_histograms([count_labels(labels, hashes)])
    cuts = find_cuts(histograms, "over")
    rules = copies_per_label(cuts, hashes_in_cuts(labels, hashes, cuts))
    assert (1, 0) == rules["a"]
    assert 2 == rules["b"][0]
    lowest = min(range(7, 10), key=lambda at: tuple(hashes[at]))
    expected = [1] * 7 + [2 + (at == lowest) for at in range(7, 10)]
    assert expected == copies_of_windows(labels, hashes, rules).tolist()


def test_labels_without_a_rule_are_taken_once() -> None:
    """What is no label of the split that is resampled."""
    assert [1, 1] == copies_of_windows(["x", "y"], _hashes(1, 2, 9), {}).tolist()
    assert {} == copies_per_label(find_cuts({}, "over"), {})


# --- the whole stage ------------------------------------------------------------------------------

# 90 of a, 45 of b, 15 of c, each of a speaker of its own.
UNEVEN = [
    Window(f"{i:03d}.wav", label="aaaaaabbbc"[i % 10], group=f"speaker {i}") for i in range(150)
]


def _paths(opened: Opened[ShardsManifest], split: str = "train") -> Counter[str]:
    """How often each recording is in a split."""
    found: Counter[str] = Counter()
    for entry in opened.files("shard"):
        if entry.split == split:
            with Path(opened.folder.path, entry.path).open("rb") as stream:
                found.update(decode(one.payload, "mfcc").path for one in read(stream))
    return found


@pytest.mark.parametrize("way", ["under", "over"])
def test_train_has_every_label_equally_often(sharder: Callable, tmp_path: Path, way: str) -> None:
    """Other splits are as they were; plan says what run writes; copies lie in different shards."""
    features = make_features(tmp_path, [UNEVEN[:50], UNEVEN[50:]])
    words = ("--resample", way, "--lanes", "6")
    planned = sharder("plan", features.folder, *words, "--json").data
    plain = read_manifest(sharder("run", features.folder, "--lanes", "6").out.strip(), "shards")
    opened = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    before, after = (one.manifest.stats.splits for one in (plain, opened))
    aim = min(before["train"].labels.values())
    if way == "over":
        aim = max(before["train"].labels.values())
    assert dict.fromkeys("abc", aim) == after["train"].labels
    assert 3 * aim == after["train"].records
    for name in ("val", "test"):
        assert before[name] == after[name]
    for name, split in after.items():
        seen = planned["splits"][name]
        for what in ("records", "recordings", "groups", "shards", "bytes", "labels"):
            assert seen[what] == getattr(split, what)
    assert f"train resampled {way}" in sharder("inspect", opened.folder).out
    often = _paths(opened)
    assert len(often) == after["train"].recordings == after["train"].groups
    left = opened.manifest.stats.excluded
    if way == "under":
        assert {"resampled": before["train"].records - 3 * aim} == left
        assert {1} == set(often.values())
    else:
        assert {} == left
        assert _paths(plain).keys() == often.keys()
        for entry in opened.files("shard"):
            with Path(opened.folder.path, entry.path).open("rb") as stream:
                paths = [decode(one.payload, "mfcc").path for one in read(stream)]
            most = -(-max(often.values()) // after[str(entry.split)].shards)
            assert max(Counter(paths).values()) <= most
    assert 0 == sharder("verify", opened.folder).code


def test_resampling_does_not_depend_on_the_layout(sharder: Callable, tmp_path: Path) -> None:
    """The same shards from one file or from many in another order."""
    one = make_features(tmp_path / "one", [UNEVEN])
    parts = [UNEVEN[at::7][::-1] for at in range(7)]
    other = make_features(tmp_path / "other", [*parts, []], row_group=5)
    runs = [
        read_manifest(sharder("run", each.folder, "--resample", "over").out.strip(), "shards")
        for each in (one, other)
    ]
    assert runs[0].files() == runs[1].files()
    assert runs[0].manifest.stats == runs[1].manifest.stats


def test_more_copies_than_shards(sharder: Callable, tmp_path: Path) -> None:
    """One window of a label against sixty: its copies fill each other's shards, and it verifies."""
    rows = [Window(f"{i}.wav", label="b" if i else "a", group=f"g{i}") for i in range(61)]
    features = make_features(tmp_path, [rows])
    words = ("--split", "train=1", "--lanes", "4", "--shards", "4", "--resample", "over")
    ran = sharder("run", features.folder, *words)
    assert "'a' occur up to 60 times" in ran.err
    opened = read_manifest(ran.out.strip(), "shards")
    assert 60 == _paths(opened)["0.wav"]
    assert 0 == sharder("verify", opened.folder).code


def test_a_killed_resampling_goes_on(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thresholds have a receipt: they are not looked for again."""
    from audioloom_sharder.commands import run
    from audioloom_sharder.steps import merge

    features = make_features(tmp_path, [UNEVEN])
    words = ("--resample", "under")
    with monkeypatch.context() as patch:
        patch.setattr(merge, "make_shards", lambda *_: (_ for _ in ()).throw(OSError(5, "gone")))
        assert 0 != sharder("run", features.folder, *words, "--name", "x").code
    monkeypatch.setattr(run, "resampled", lambda *_: pytest.fail("looked for again"))
    assert 0 == sharder("run", features.folder, *words, "--name", "x").code


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--resample", "over", "--target", "number"], "--resample goes by labels"),
        (["--resample", "under", "--split", "x=0.5,y=0.5"], "no split is named 'train'"),
        (["--resample", "both"], "--resample"),
    ],
)
def test_a_resampling_without_sense_is_usage(
    sharder: Callable, tmp_path: Path, words: list[str], text: str
) -> None:
    """Nothing is written."""
    features = make_features(tmp_path, [UNEVEN])
    ran = sharder("run", features.folder, *words)
    assert (2, True) == (ran.code, text in ran.err), ran.err
    assert not list(tmp_path.glob("shards/*/manifest.json"))


@pytest.mark.parametrize("way", ["under", "over"])
def test_a_rule_that_was_changed_is_found(sharder: Callable, tmp_path: Path, way: str) -> None:
    """Another threshold, other copies, or no rule at all: the records do not follow from it."""
    features = make_features(tmp_path, [UNEVEN])
    opened = read_manifest(sharder("run", features.folder, "--resample", way).out.strip(), "shards")
    path = Path(opened.location.path)
    sound = path.read_text()
    rare = json.loads(sound)["stats"]["resampling"]["c"]
    other = {"one_more_below": "8" + "0" * 31} if way == "under" else {"copies": rare["copies"] + 1}
    label = "a" if way == "under" else "c"
    for change in (
        lambda stats: stats["resampling"][label].update(other),
        lambda stats: stats.update(resampling=None),
    ):
        value = json.loads(sound)
        change(value["stats"])
        write_manifest(path.parent, value, opened.files())
        ran = sharder("verify", opened.folder)
        assert (65, True) == (ran.code, "inputs:" in ran.out), ran.out
    value = json.loads(sound)
    value["stats"]["resampling"]["b"] = {"copies": 0, "one_more_below": "0" * 32}
    write_manifest(path.parent, value, opened.files())
    text = sharder("verify", opened.folder, "--no-inputs").out
    assert "should have been left out by the resampling" in text


def test_labels_of_other_counts_are_found(sharder: Callable, tmp_path: Path) -> None:
    """Equal shares of a run that says it is resampled, but of fewer windows than there could be."""
    even = [Window(f"{i:03d}.wav", label="ab"[i % 2], group=f"speaker {i}") for i in range(90)]
    features = make_features(tmp_path, [even])
    words = ("--split", "train=1", "--resample", "under")
    opened = read_manifest(sharder("run", features.folder, *words).out.strip(), "shards")
    path = Path(opened.location.path)
    value = json.loads(path.read_text())
    value["stats"]["splits"]["train"]["labels"] = {"a": 46, "b": 44}
    write_manifest(path.parent, value, opened.files())
    text = sharder("verify", opened.folder).out
    assert "resampling: expected 45 records of each label" in text
    assert "resampling: expected as many records of each label" in text
