"""Groups stay whole: where they go, and what is done without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sharder_features import Window, make_features, windows
from sharder_runs import committed, records_of

ROWS = windows(120, each=2)


def test_an_empty_split_is_refused_by_name(sharder: Callable, tmp_path: Path) -> None:
    """Two groups cannot fill three splits."""
    features = make_features(tmp_path, [windows(20, groups=2)])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "no group falls into the split" in ran.err
    assert "--stratify fills the splits" in ran.err
    assert "leave the split out" in sharder("run", features.folder, "--stratify").err
    assert not (tmp_path / "shards").exists() or not list(tmp_path.glob("shards/*/manifest.json"))


def test_few_groups_that_miss_a_split_fill_it_by_stratify(
    sharder: Callable, tmp_path: Path
) -> None:
    """As the error proposes: sixteen speakers are enough for three splits."""
    features = make_features(tmp_path, [windows(192, groups=16)])
    assert "--stratify fills the splits" in sharder("plan", features.folder).err
    planned = sharder("plan", features.folder, "--stratify", "--json").data
    records = {name: split["records"] for name, split in planned["splits"].items()}
    assert {"test": 24, "train": 144, "val": 24} == records


PROPOSAL = "--stratify divides them by their labels and sizes instead"


@pytest.mark.parametrize("target", ["label", "number"])
def test_stratify_is_proposed_where_it_helps(
    sharder: Callable, tmp_path: Path, target: str
) -> None:
    """With few groups a split misses a label, or is far too large; with `--stratify` neither."""
    sizes = [1, 1, 1, 1, 1, 1, 1, 1, 30, 30, 5, 5]
    rows = [
        Window(f"{group}/{at}-{n}.wav", label="ab"[n % 2], target=1.0, group=f"g{group}-{at}")
        for group, size in enumerate(sizes)
        for at in range(2)
        for n in range(size * 2)
    ]
    features = make_features(tmp_path, [rows])
    words = (features.folder, "--split", "train=0.6,test=0.4", "--target", target, "--seed", 8)
    warned = sharder("plan", *words, "--json").data["warnings"]
    assert f"there are 24 groups, and a hash draws the split of each: {PROPOSAL}" in warned
    assert any("split train has 30.8% of the records instead of 60.0%" in each for each in warned)
    warned = sharder("plan", *words, "--stratify", "--json").data["warnings"]
    assert not [each for each in warned if "stratify" in each or "of the records" in each]


def test_stratify_is_not_proposed_in_vain(sharder: Callable, tmp_path: Path) -> None:
    """A label with one window cannot be in every split, and many groups are near the ratios."""
    rows = [*windows(2400, groups=200), Window("once.wav", label="once", group="alone")]
    warned = sharder("plan", make_features(tmp_path, [rows]).folder, "--json").data["warnings"]
    assert any("has the label 'once'" in each for each in warned)
    assert PROPOSAL not in " ".join(warned)


def test_other_records_by_resampling_are_no_reason(sharder: Callable, tmp_path: Path) -> None:
    """They change the size of train alone, whoever divides the groups."""
    rows = [
        Window(f"{n}.wav", label="rare" if n % 20 == 0 else "common", group=f"g{n}")
        for n in range(1200)
    ]
    words = (make_features(tmp_path, [rows]).folder, "--split", "train=0.5,test=0.5")
    data = sharder("plan", *words, "--resample", "under", "--json").data
    assert data["splits"]["train"]["records"] < data["splits"]["test"]["records"] / 4
    assert PROPOSAL not in " ".join(data["warnings"])


def test_the_order_of_splits_in_the_wish_does_not_matter(sharder: Callable, tmp_path: Path) -> None:
    """The same run by another order of words."""
    features = make_features(tmp_path, [ROWS])
    assert 0 == sharder("run", features.folder, "--split", "train=0.5,test=0.5").code
    again = sharder("run", features.folder, "--split", "test=0.5,train=0.5", "--json")
    assert again.data["already_committed"]


def test_adding_data_moves_no_group(sharder: Callable, tmp_path: Path) -> None:
    """Whoever was in test stays there when more recordings come."""
    few = make_features(tmp_path / "few", [windows(200, groups=100)])
    more = make_features(tmp_path / "more", [windows(900, groups=333)])
    one, two = (records_of(committed(sharder("run", each.folder).out)) for each in (few, more))
    before = {record.group: name for name, some in one.items() for record in some}
    after = {record.group: name for name, some in two.items() for record in some}
    assert before == {group: after[group] for group in before}


def test_another_seed_is_another_run(sharder: Callable, tmp_path: Path) -> None:
    """Beside the old one."""
    features = make_features(tmp_path, [ROWS])
    one, two = (sharder("run", features.folder, "--seed", seed).out for seed in (0, 1))
    assert one != two
    assert 2 == len(list((tmp_path / "shards").iterdir()))


def test_recordings_stand_in_for_groups(sharder: Callable, tmp_path: Path) -> None:
    """--ungrouped by-recording: no recording in two splits, and a word about it."""
    rows = [Window(f"{i}.wav", group=None, window=w) for i in range(60) for w in range(3)]
    features = make_features(tmp_path, [rows])
    ran = sharder("run", features.folder, "--ungrouped", "by-recording")
    assert "split by recording" in ran.err
    seen: dict[str, str] = {}
    for name, some in records_of(committed(ran.out)).items():
        for one in some:
            assert one.path == one.group
            assert name == seen.setdefault(one.path, name)


def test_one_split_needs_no_groups(sharder: Callable, tmp_path: Path) -> None:
    """There is nothing to keep apart."""
    rows = [Window(f"{i}.wav", group=None) for i in range(10)]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder, "--split", "train=1").out)
    assert 0 == opened.manifest.stats.splits["train"].groups
    assert {""} == {one.group for one in records_of(opened)["train"]}


def test_copies_in_different_splits_are_told(sharder: Callable, tmp_path: Path) -> None:
    """The same recording under two names in two splits is a leak, and said aloud."""
    rows = [Window(f"{i}.wav", group=f"g{i}", content=f"{i % 40}") for i in range(80)]
    features = make_features(tmp_path, [rows])
    assert "recordings occur under several names" in sharder("run", features.folder).err


def test_a_dominant_group_is_told(sharder: Callable, tmp_path: Path) -> None:
    """Groups go whole, so the splits are far from the wish."""
    rows = [Window(f"{i}.wav", group="g1" if i < 80 else f"g{i}") for i in range(140)]
    features = make_features(tmp_path, [rows])
    assert "one group holds 80 of 140 records" in sharder("run", features.folder).err


def test_one_group_that_holds_everything_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """It goes whole, so the other splits are empty: each named, with what the first got."""
    features = make_features(tmp_path, [[Window(f"{i}.wav", group="one") for i in range(90)]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "no group falls into the split 'test' or 'val'" in ran.err
    assert "90" in ran.err
    assert 0 == sharder("run", features.folder, "--split", "train=1").code
