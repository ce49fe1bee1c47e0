"""Splits by label, from an earlier run, from a pattern or a table: what comes out, what is refused.

That `plan`, `run` and `verify` agree on each way stands here too; lies are in `test_split_lies`.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_manifest.reader import Opened
from audioloom_sharder.splits.hashing import group_hashes
from sharder_features import Window, make_features, relabelled, windows
from sharder_forging import relist, unlist
from sharder_runs import committed

WISH = "train=0.6,val=0.2,test=0.2"
ROWS = windows(300, groups=60)
#: Label "rare" in 10 groups of 60; by hash it may miss a split.
SKEWED = [
    replace(row, label="rare" if int(str(row.group).split()[1]) < 10 else "common") for row in ROWS
]
BY_PATH = [
    replace(row, path=f"{split}/{row.path}", group=f"{split} {row.group}")
    for row, split in zip(ROWS, ("train", "train", "dev") * 100, strict=True)
]
PATTERN = "(?P<split>[^/]+)/.*"


@pytest.fixture(autouse=True)
def _few_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shard a split is enough here."""
    monkeypatch.setenv("AUDIOLOOM_SHARDER_LANES", "1")


def splits_of_rows(opened: Opened, rows: Sequence[Window], seed: int = 0) -> dict[str, str]:
    """The split of each group, read from the splits file as the contract says."""
    (entry,) = opened.files("splits")
    table = np.load(Path(opened.folder.path, entry.path), allow_pickle=False)
    names = sorted(opened.manifest.stats.splits)
    groups = sorted({str(row.group) for row in rows})
    by_hash = {int(row["group"]): names[row["split"]] for row in table}
    hashes = group_hashes(groups, seed=seed).tolist()
    return {g: by_hash[h] for g, h in zip(groups, hashes, strict=True) if h in by_hash}


def labels_of(opened: Opened) -> dict[str, dict[str, int]]:
    """Records of each label in each split."""
    return {name: dict(one.labels) for name, one in opened.manifest.stats.splits.items()}


def table_at(path: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """A CSV file."""
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--split-pattern", PATTERN, "--split", WISH], "--split exclude each other"),
        (["--split-pattern", PATTERN, "--split-table", "x"], "--split-table exclude each other"),
        (["--split-pattern", PATTERN, "--stratify"], "--stratify exclude each other"),
        (["--split-table", "x", "--keep-splits", "y"], "--keep-splits exclude each other"),
        (["--split-pattern", "("], "no regular expression"),
        (["--split-pattern", "(?P<label>.*)"], "(?P<split>…), no others found label"),
        (["--split-pattern", ".*"], "no named group"),
        (["--unassigned", "drop"], "--unassigned is for --split-pattern and --split-table"),
    ],
)
def test_ways_that_exclude_each_other_are_refused(
    sharder: Callable, tmp_path: Path, words: list[str], text: str
) -> None:
    """Before anything is read, with both flags or with what is wrong in the pattern."""
    ran = sharder("run", tmp_path, *words)
    assert 2 == ran.code
    assert text in " ".join(ran.err.split())


@pytest.mark.parametrize("command", ["plan", "run"])
def test_windows_that_nothing_is_said_of_are_refused(
    sharder: Callable, tmp_path: Path, command: str
) -> None:
    """With their number, the first of them, and the way out."""
    rows = relabelled(relabelled(BY_PATH, 7, path="z.wav"), 9, path="y.wav")
    features = make_features(tmp_path, [rows[:150], rows[150:]])
    ran = sharder(command, features.folder, "--split-pattern", PATTERN)
    assert 65 == ran.code
    assert "none in 2 of 300 windows, the first y.wav, window 0" in ran.err
    assert "--unassigned drop" in ran.err


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_group_in_two_splits_is_refused(sharder: Callable, tmp_path: Path, command: str) -> None:
    """Named with a recording in each split, though they lie in different files."""
    rows = relabelled(relabelled(BY_PATH, 1, group="torn"), 200, group="torn")
    features = make_features(tmp_path, [rows[:150], rows[150:]])
    ran = sharder(command, features.folder, "--split-pattern", PATTERN)
    assert 65 == ran.code
    assert f"'torn' in dev ({rows[200].path}) and train ({rows[1].path})" in ran.err
    assert not list(tmp_path.glob("shards/*/manifest.json"))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            "nothing/(?P<split>.*)",
            "no path that nothing/(?P<split>.*) matches; the first path is dev/c/00002.wav",
        ),
        (".*/(?P<split>[^/]+)", "found '00000.wav'"),
        (".*/(?P<split>[^/]+)", "Other names can be given in a table"),
    ],
)
def test_patterns_that_say_no_split_are_refused(
    sharder: Callable, tmp_path: Path, pattern: str, text: str
) -> None:
    """One that describes no path, and one that catches what can be no name."""
    features = make_features(tmp_path, [BY_PATH])
    for command in ("plan", "run"):
        ran = sharder(command, features.folder, "--split-pattern", pattern)
        assert 65 == ran.code
        assert text in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"path,label\na,b\n", "a column split, once"),
        (b"split,speaker\na,b\n", "a column group or path, once found the columns split"),
        (b"split,path,split\na,b,c\n", "found twice"),
        (b"split,path\ntrain,a\nval,a\n", "found train and val for 'a'"),
        (b"split,path\nTrain,a\n", "found 'Train'"),
        (b"split,path\ntrain,a,b\n", "as many fields in each line"),
        (b"split,path\ntrain,\xff\n", "line 2 expected UTF-8"),
        (b"\0\0\0", "a first line of 3 bytes"),
        (b"split,path\n", "expected splits found none"),
        (b"PAR1 but no more", "Parquet"),
    ],
)
def test_tables_that_say_no_split_are_refused(
    sharder: Callable, tmp_path: Path, content: bytes, text: str
) -> None:
    """By what is wrong with them, and where."""
    features = make_features(tmp_path, [ROWS])
    table = tmp_path / "table.csv"
    table.write_bytes(content)
    ran = sharder("plan", features.folder, "--split-table", table)
    assert (65, False) == (ran.code, "--split-table" in ran.err), ran.err
    assert text in " ".join(ran.err.split())
    assert str(table) in ran.err


def test_a_missing_table_and_a_missing_run_are_told(sharder: Callable, tmp_path: Path) -> None:
    """Exit code 66, with the path."""
    features = make_features(tmp_path, [ROWS])
    for flag in ("--split-table", "--keep-splits"):
        ran = sharder("run", features.folder, flag, tmp_path / "gone")
        assert 66 == ran.code
        assert f"{tmp_path}/gone" in ran.err


def test_a_table_that_no_container_reaches_is_refused(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started on the cluster: where it would have to lie."""
    for name in ("core-site.xml", "yarn-site.xml"):
        (tmp_path / name).write_text("<configuration/>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    features = make_features(tmp_path, [ROWS])
    table = tmp_path / "table.csv"
    groups = sorted({str(row.group) for row in ROWS})
    table.write_text("split,group\n" + "".join(f"train,{group}\n" for group in groups))
    ran = sharder("run", features.folder, "--split-table", table, "--master", "yarn")
    assert 2 == ran.code
    assert "--split-table" in ran.err
    assert "hdfs dfs -put" in ran.err


def test_a_run_that_cannot_be_kept_to_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """With a split that is not wished for; of an older release; with a damaged splits file."""
    features = make_features(tmp_path, [ROWS])
    old = committed(sharder("run", features.folder, "--split", WISH).out)
    keeping = ("--keep-splits", old.folder)
    ran = sharder("plan", features.folder, "--split", "train=0.8,test=0.2", *keeping)
    assert (2, True) == (ran.code, "has the split 'val'" in ran.err)
    (entry,) = old.files("splits")
    path = Path(old.folder.path, entry.path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    ran = sharder("plan", features.folder, *keeping)
    assert (65, True) == (ran.code, path.name in ran.err)
    path.write_bytes(whole)
    unlist(old, "splits")
    ran = sharder("plan", features.folder, *keeping)
    assert (65, True) == (ran.code, "An older release wrote none" in ran.err)


# --- by label ------------------------------------------------------------------------------------


def test_labels_are_balanced_and_the_layout_does_not_matter(
    sharder: Callable, tmp_path: Path
) -> None:
    """Ten groups of a rare label go 6, 2 and 2; other files, other order: the same shards."""
    one = make_features(tmp_path, [SKEWED])
    words = ("--stratify", "--split", WISH)
    ran = sharder("run", one.folder, *words)
    opened = committed(ran.out)
    found = splits_of_rows(opened, SKEWED)
    rare = [found[f"speaker {number}"] for number in range(10)]
    assert {"train": 6, "val": 2, "test": 2} == {name: rare.count(name) for name in {*rare}}
    assert (0, "") == (sharder("verify", opened.folder).code, "")
    planned = sharder("plan", one.folder, *words, "--json").data
    assert labels_of(opened) == {n: s["labels"] for n, s in planned["splits"].items()}
    assert planned["committed"]
    cut = [list(reversed(SKEWED[:70])), SKEWED[200:], SKEWED[70:200]]
    shutil.rmtree(tmp_path / "features")
    other = committed(sharder("run", make_features(tmp_path, cut).folder, *words).out)
    sha256 = {entry.sha256 for entry in opened.files()}
    assert sha256 == {entry.sha256 for entry in other.files()}


def test_deviations_are_told(sharder: Callable, tmp_path: Path) -> None:
    """By label: in the plan's table and data, by inspect, and aloud when a label is missing."""
    rows = [replace(row, label="odd" if row.group == "speaker 0" else "even") for row in ROWS]
    features = make_features(tmp_path, [rows])
    words = (features.folder, "--stratify", "--split", WISH)
    plan = sharder("plan", *words, "--json").data
    (home,) = [name for name, one in plan["splits"].items() if "odd" in one["labels"]]
    worst = plan["deviations"][0]
    assert ("odd", 5, 1.0) == (worst["label"], worst["records"], worst["actual"][home])
    assert {"train": 0.6, "val": 0.2, "test": 0.2} == worst["requested"]
    text = sharder("plan", *words).out
    assert "labels furthest from the requested split" in text
    ran = sharder("run", *words)
    assert "has the label 'odd'" in ran.err
    opened = committed(ran.out)
    inspected = sharder("inspect", opened.folder, "--json").data
    assert plan["deviations"] == inspected["deviations"]
    assert "labels furthest from the requested split" in sharder("inspect", opened.folder).out


# --- kept ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stratify", "seed"), [(False, "0"), (True, "5")])
def test_kept_groups_stay_and_new_ones_are_shared_out(
    sharder: Callable, tmp_path: Path, stratify: bool, seed: str
) -> None:
    """Added data move nothing, also with another seed; a run of a run that kept keeps, too."""
    words = ("--split", WISH, *(["--stratify"] if stratify else []))
    first = make_features(tmp_path, [SKEWED])
    old = committed(sharder("run", first.folder, "--stratify", "--split", WISH).out)
    more = [replace(row, path=f"n/{row.path}", group=f"new {row.group}") for row in SKEWED]
    second = make_features(tmp_path, [more], source="two")
    ran = sharder(
        "run", first.folder, second.folder, *words, "--seed", seed, "--keep-splits", old.folder
    )
    new = committed(ran.out)
    before, after = splits_of_rows(old, SKEWED), splits_of_rows(new, [*SKEWED, *more], int(seed))
    assert before == {group: after[group] for group in before}
    assert len(before) * 2 == len(after)
    assert "shards" == new.manifest.inputs[-1].kind
    assert (
        new.manifest.name
        != committed(
            sharder("run", first.folder, second.folder, *words, "--seed", seed).out
        ).manifest.name
    )
    ran = sharder("verify", new.folder)
    assert 0 == ran.code, ran.out
    if stratify:
        rare = [after[f"new speaker {number}"] for number in range(10)]
        assert {"train": 6, "val": 2, "test": 2} == {name: rare.count(name) for name in {*rare}}


# --- said by the data ----------------------------------------------------------------------------


def test_a_pattern_says_the_splits(sharder: Callable, tmp_path: Path) -> None:
    """As the folders are; nothing of a wish stands in the recipe."""
    features = make_features(tmp_path, [BY_PATH[:100], BY_PATH[100:]])
    opened = committed(sharder("run", features.folder, "--split-pattern", PATTERN).out)
    found = splits_of_rows(opened, BY_PATH)
    assert {str(row.group): row.path.split("/")[0] for row in BY_PATH} == found
    assert ({}, PATTERN) == (opened.manifest.recipe.splits, opened.manifest.recipe.split_pattern)
    assert 0 == sharder("verify", opened.folder).code
    plan = sharder("plan", features.folder, "--split-pattern", PATTERN, "--json").data
    assert {"dev": 100, "train": 200} == {n: one["records"] for n, one in plan["splits"].items()}
    assert 0 == sharder("inspect", opened.folder).code


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("key", ["path", "group"])
def test_a_table_says_the_splits(sharder: Callable, tmp_path: Path, key: str, kind: str) -> None:
    """By path or by group, CSV or Parquet; what it says of others does not matter."""
    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    groups = {str(row.group): "a" if int(str(row.group)[8:]) % 3 else "b" for row in ROWS}
    said = [(row.path if key == "path" else str(row.group), groups[str(row.group)]) for row in ROWS]
    said += [("nobody", "a"), ("no split", "")]
    table = tmp_path / f"splits.{kind}"
    if kind == "csv":
        table_at(table, ("note", key, "split"), [("", *pair) for pair in said])
    else:
        keys, splits = zip(*said, strict=True)
        pq.write_table(pa.table({"split": pa.array(splits).dictionary_encode(), key: keys}), table)
    opened = committed(sharder("run", features.folder, "--split-table", table).out)
    assert groups == splits_of_rows(opened, ROWS)
    assert 0 == sharder("verify", opened.folder).code
    moved = table.rename(tmp_path / "moved")
    assert "moved" not in (gone := sharder("verify", opened.folder)).out
    assert 65 == gone.code
    assert 0 == sharder("verify", opened.folder, "--split-table", moved).code
    moved.write_bytes(b"split,path\na,b\n")
    assert "Another table" in sharder("verify", opened.folder, "--split-table", moved).out


def test_what_nothing_is_said_of_can_be_left_out(sharder: Callable, tmp_path: Path) -> None:
    """Counted, said aloud, and counted again by verify."""
    rows = [*BY_PATH, Window("lost.wav", group="lost"), Window("gone.wav", group="lost")]
    features = make_features(tmp_path, [rows[:50], rows[50:]])
    words = (features.folder, "--split-pattern", PATTERN, "--unassigned", "drop")
    ran = sharder("run", *words)
    opened = committed(ran.out)
    assert {"no split": 2} == opened.manifest.stats.excluded
    assert "2 windows are left out (no split)" in ran.err
    assert 300 == sum(one.records for one in opened.manifest.stats.splits.values())
    assert 0 == sharder("verify", opened.folder).code
    assert 300 == sum(
        one["records"] for one in sharder("plan", *words, "--json").data["splits"].values()
    )


def test_recordings_without_a_group_go_by_themselves_and_it_is_said(
    sharder: Callable, tmp_path: Path
) -> None:
    """With their number; where all have a group, nothing is said."""
    some = [replace(row, group=None) if n % 10 == 0 else row for n, row in enumerate(BY_PATH)]
    one = make_features(tmp_path, [some])
    ran = sharder("run", one.folder, "--split-pattern", PATTERN)
    assert "30 windows without a group were split by recording" in ran.err
    assert 0 == sharder("verify", committed(ran.out).folder).code
    two = make_features(tmp_path, [BY_PATH], source="two")
    assert "without a group" not in sharder("plan", two.folder, "--split-pattern", PATTERN).out


def test_a_killed_run_goes_on(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was settled is not settled again."""
    from audioloom_sharder.commands import run
    from audioloom_sharder.steps import rank

    features = make_features(tmp_path, [SKEWED[:100], SKEWED[100:]])
    words = (features.folder, "--stratify", "--split", WISH)
    whole = committed(sharder("run", *words, "--name", "whole").out)

    def fail(*_: object) -> None:
        raise OSError(5, "the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(rank, "scan_source", fail)
        assert 0 != sharder("run", *words, "--name", "part").code
    monkeypatch.setattr(run, "gather_source", fail)
    monkeypatch.setattr(run, "assign_all", fail)
    part = committed(sharder("run", *words, "--name", "part").out)
    assert [entry.sha256 for entry in whole.files()] == [entry.sha256 for entry in part.files()]


@pytest.mark.parametrize("way", ["under", "over"])
def test_resampling_takes_the_splits_that_were_decided(
    sharder: Callable, tmp_path: Path, way: str
) -> None:
    """Of a pattern or a table, and by label: train is balanced, plan shows it, verify agrees."""
    rows = [replace(row, label=old.label) for row, old in zip(BY_PATH, SKEWED, strict=True)]
    features = make_features(tmp_path, [rows[:100], rows[100:]])
    table = table_at(
        tmp_path / "splits.csv",
        ["group", "split"],
        sorted({(str(row.group), str(row.group).split()[0]) for row in rows}),
    )
    for words in (["--split-pattern", PATTERN], ["--split-table", table], ["--stratify"]):
        given = (features.folder, *words, "--resample", way)
        opened = committed(sharder("run", *given).out)
        assert 1 == len({*labels_of(opened)["train"].values()})
        planned = sharder("plan", *given, "--json").data["splits"]
        assert labels_of(opened) == {name: one["labels"] for name, one in planned.items()}
        ran = sharder("verify", opened.folder)
        assert 0 == ran.code, ran.out


def test_a_resampled_run_with_another_pattern_is_found(sharder: Callable, tmp_path: Path) -> None:
    """Also where the recipe's pattern gives no split to train on."""
    features = make_features(tmp_path, [BY_PATH])
    words = ("--split-pattern", PATTERN, "--resample", "over")
    opened = committed(sharder("run", features.folder, *words).out)
    relist(opened, split_pattern="(?P<split>d|t).*")
    ran = sharder("verify", opened.folder)
    assert (65, True) == (ran.code, "belongs to split d" in ran.out), (ran.out, ran.err)
