"""`verify` and the splits: each way in which they can be other than the manifest says is found."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from audioloom_manifest.reader import Opened, read_manifest
from sharder_features import make_features, windows
from sharder_forging import records_of, regroup, relist, rewrite, shards_of

WISH = "train=0.6,val=0.2,test=0.2"
#: The path says train or val by turns of the group; so does the table that the run is made by.
ROWS = [
    replace(row, path=f"{'train' if int(str(row.group)[8:]) % 2 else 'val'}/{row.path}")
    for row in windows(120, groups=40, labels=("a", "b"))
]


@pytest.fixture(autouse=True)
def _few_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shard a split is enough here."""
    monkeypatch.setenv("AUDIOLOOM_SHARDER_LANES", "1")


def _table(path: Path, others: int = 0) -> Path:
    """Splits as the paths say them, but for the first *others* groups."""
    groups = [f"speaker {number}" for number in range(40)]
    with path.open("w", newline="") as stream:
        rows = [
            (group, "train" if (number % 2) ^ (number < others) else "val")
            for number, group in enumerate(groups)
        ]
        csv.writer(stream).writerows([("group", "split"), *rows])
    return path


@pytest.fixture
def run(sharder: Callable, tmp_path: Path) -> Opened:
    """A run whose table says other splits of two groups than the paths do."""
    features = make_features(tmp_path, [ROWS[:60], ROWS[60:]])
    table = _table(tmp_path / "run.csv", others=2)
    ran = sharder("run", features.folder, "--split-table", table)
    return read_manifest(ran.out.strip(), "shards")


def _problems(sharder: Callable, run: Opened, *words: object) -> str:
    ran = sharder("verify", run.folder, *words)
    assert 65 == ran.code, ran.out
    return str(ran.out)


NOT_OF_DATA = {"split_table_sha256": None, "ungrouped": "refuse"}


@pytest.mark.parametrize(
    "recipe",
    [
        {"stratify": True, "splits": {"train": 0.5, "val": 0.5}, **NOT_OF_DATA},
        {"splits": {"train": 0.5, "val": 0.5}, **NOT_OF_DATA},
        {"split_pattern": "(?P<split>[^/]+)/.*", "split_table_sha256": None},
    ],
    ids=["stratify", "hash", "pattern"],
)
def test_another_way_than_the_recipe_says_is_found(
    sharder: Callable, run: Opened, recipe: dict
) -> None:
    """All agrees, files, counts and splits file; only that the recipe gives other splits."""
    assert 0 == sharder("verify", run.folder).code
    relist(run, **recipe)
    text = _problems(sharder, run)
    assert "groups lie in another split than decided" in text
    assert ": record " in text
    assert " belongs to split " in text


def test_another_table_than_the_recipe_says_is_found(
    sharder: Callable, run: Opened, tmp_path: Path
) -> None:
    """Two groups lie elsewhere, each told of with its records."""
    table = _table(tmp_path / "other.csv")
    relist(run, split_table_sha256=hashlib.sha256(table.read_bytes()).hexdigest())
    text = _problems(sharder, run, "--split-table", table)
    assert "splits file: 2 groups lie in another split than decided" in text
    assert "the group 'speaker 1' belongs to split train" in text


def test_a_group_that_was_not_kept_is_found(sharder: Callable, tmp_path: Path) -> None:
    """The run that was kept to lies there and is whole, but its groups lie elsewhere."""
    features = make_features(tmp_path, [ROWS])
    words = ("run", features.folder, "--split", "train=0.5,val=0.5")
    old = read_manifest(sharder(*words).out.strip(), "shards")
    words = (*words, "--seed", "3")
    free = read_manifest(sharder(*words).out.strip(), "shards")
    kept = read_manifest(sharder(*words, "--keep-splits", old.folder).out.strip(), "shards")
    assert 0 == sharder("verify", kept.folder).code
    inputs = kept.manifest.inputs
    forged = replace(free, manifest=free.manifest.model_copy(update={"inputs": inputs}))
    relist(forged)
    text = _problems(sharder, forged)
    assert "groups lie in another split than decided" in text
    assert " belongs to split " in text


@pytest.mark.parametrize(
    ("change", "words", "text"),
    [
        ("split", ["--no-inputs"], "groups in split train, found"),
        ("split", ["--no-inputs"], "by the splits file"),
        ("split", [], "1 groups lie in another split than decided"),
        ("lacking", ["--no-inputs"], "is not in the splits file"),
        ("lacking", [], "1 groups of the inputs are missing"),
        ("records", [], "another number of records than the inputs have"),
    ],
)
def test_a_splits_file_that_lies_is_found(
    sharder: Callable, run: Opened, change: str, words: list[str], text: str
) -> None:
    """List and identity made to fit."""
    path = regroup(run, change)
    found = _problems(sharder, run, *words)
    assert (True, True) == ("splits file: " in found, path.name in found)
    relist(run)
    assert text in _problems(sharder, run, *words)


def test_a_record_in_another_split_than_its_group_is_found(sharder: Callable, run: Opened) -> None:
    """Without a look at the inputs: named with its group."""
    train, val = shards_of(run)[0], shards_of(run, "val")[0]
    mine, other = records_of(train), records_of(val)
    mine[0], other[0] = other[0], mine[0]
    rewrite(train, mine)
    rewrite(val, other)
    relist(run)
    text = _problems(sharder, run, "--no-inputs")
    assert f"{train}: record 0: the group '{mine[0].group}' lies in split val by" in text


def test_a_splits_file_that_is_none_is_found(sharder: Callable, run: Opened) -> None:
    """No array of numbers; groups out of order; none at all."""
    (entry,) = run.files("splits")
    path = Path(run.folder.path, entry.path)
    whole = path.read_bytes()
    for data, text in (
        (b"nothing", "not a NumPy file of numbers"),
        (whole.replace(b"{", b"(", 1), "not a NumPy file of numbers"),
        (whole[:-17] + whole[-34:-17], "groups out of order, or twice"),
        (whole[:-1] + b"\x07", "a group in split number 7 of 2"),
    ):
        path.write_bytes(data)
        relist(run)
        assert text in _problems(sharder, run, "--no-inputs")
    path.unlink()
    relist(run)
    text = _problems(sharder, run, "--no-inputs")
    assert (True, False) == (path.name in text, "by the splits file" in text)
