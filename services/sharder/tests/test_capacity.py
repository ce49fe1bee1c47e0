"""What `plan --capacity` predicts is what a run takes, call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from audioloom_sharder.capacity import Planned, expected_layout, run_calls, verify_calls
from audioloom_sharder.sharding import layout, ranking
from audioloom_sharder.steps.merge import shard_units
from audioloom_storage_testing import CountingStore
from sharder_features import make_features, windows
from sharder_rules import rules_of
from sharder_runs import committed

IN_FILE = 24


@dataclass(frozen=True)
class Case:
    """A run of so many features files, shards, and shards a unit."""

    files: int
    shards: int
    in_unit: int = 1
    ranges: int = 1
    words: tuple[str, ...] = ()
    lookup: bool = False


PLAIN = (Case(2, 4), Case(4, 4), Case(8, 4), Case(4, 8), Case(4, 16), Case(4, 16, 4))
RANGES = (Case(2, 4), Case(2, 4, ranges=3), Case(4, 4, ranges=6))
STRATIFIED = tuple(Case(files, 4, words=("--stratify",), lookup=True) for files in (2, 4, 8))


def planned(case: Case) -> Planned:
    """What is predicted of it, from the numbers alone."""
    known = rules_of(lanes=4, shards=case.shards, stratify=case.lookup)
    count = case.files * IN_FILE
    predicted = expected_layout(count, {}, known, "here")
    assert case.shards == predicted.shards
    assert case.shards // case.in_unit == len(shard_units(predicted))
    return Planned(count, count, case.files, predicted, known)


@pytest.mark.parametrize("cases", [PLAIN, RANGES, STRATIFIED])
def test_calls_grow_as_predicted(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: tuple[Case, ...]
) -> None:
    """For each features file, range, shard and unit more, as many calls as the constants say."""
    found: dict[str, list[Counter[Any]]] = {"run": [], "verify": []}
    predicted: dict[str, list[Counter[str]]] = {"run": [], "verify": []}
    for number, case in enumerate(cases):
        records = case.files * IN_FILE
        monkeypatch.setattr(layout, "UNIT_SHARDS", case.in_unit)
        monkeypatch.setattr(ranking, "RANGE_RECORDS", -(-records // case.ranges))
        rows = windows(records, groups=records // 2)
        parts = [rows[at : at + IN_FILE] for at in range(0, records, IN_FILE)]
        features = make_features(tmp_path / str(number), parts)
        words = ("--split", "train=1", "--lanes", "4", "--shards", case.shards, *case.words)
        with CountingStore(tmp_path / f"run-{number}").installed() as store:
            ran = sharder("run", features.folder, *words)
        found["run"].append(store.calls)
        run = committed(ran.out).folder
        with CountingStore(tmp_path / f"verify-{number}").installed() as store:
            assert 0 == sharder("verify", run).code
        found["verify"].append(store.calls)
        predicted["run"].append(run_calls(planned(case)))
        predicted["verify"].append(verify_calls(planned(case)))
    for command, (one, other) in (
        (command, pair) for command in found for pair in combinations(range(len(cases)), 2)
    ):
        if command == "verify" and cases[0].lookup:
            continue  # `verify` decides splits again: what that takes is not predicted
        grown, told = found[command], predicted[command]
        for kind in {*grown[one], *told[one]}:
            growth = grown[other][kind] - grown[one][kind]
            assert told[other][kind] - told[one][kind] == growth, (command, kind)


def lines(sharder: Callable, features: object, *words: object) -> dict[str, Any]:
    """The lines of `plan --capacity` by name."""
    ran = sharder("plan", features, "--capacity", "--json", *words)
    assert 0 == ran.code, ran.err
    return {one["name"]: one for one in ran.data["capacity"]}


def test_no_features_file_is_needed(sharder: Callable, tmp_path: Path) -> None:
    """The manifest alone is read, and the shards predicted are those of the run."""
    features = make_features(tmp_path, [windows(240, groups=120)])
    ran = committed(sharder("run", features.folder, "--lanes", "4", "--shards", "24").out)
    for entry in features.files("features"):
        Path(features.folder.path, entry.path).unlink()
    found = lines(sharder, features.folder, "--lanes", "4", "--shards", "24")
    assert 240 == found["windows"]["amount"]
    written = sum(split.shards for split in ran.manifest.stats.splits.values())
    assert written == found["shards"]["amount"]
    assert {"green"} == {one["verdict"] for one in found.values()}


def test_data_decide_splits_as_the_default_ratios_would(sharder: Callable, tmp_path: Path) -> None:
    """Which splits a pattern finds, nobody knows before the scan."""
    features = make_features(tmp_path, [windows(240)])
    found = lines(sharder, features.folder, "--split-pattern", "(?P<split>[a-z]+).*")
    assert 240 == found["windows"]["amount"]


def test_a_label_of_one_window_has_a_weight() -> None:
    """Though its share of a split is none, rounded."""
    rules = rules_of(splits={"train": 0.4, "val": 0.6}, class_weights="balanced")
    predicted = expected_layout(100, {"rare": 1, "common": 99}, rules, "here")
    assert ["common", "rare"] == [*(predicted.class_weights or {})]


def test_many_labels_in_a_closure_are_told(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task carries the vocabulary; the table says what to change."""
    monkeypatch.setattr("audioloom_sharder.capacity.CLOSURE_BYTES", (100, 1000))
    features = make_features(tmp_path, [windows(24)])
    assert "red" == lines(sharder, features.folder)["closure of a task"]["verdict"]
    assert "fewer or shorter labels" in sharder("plan", features.folder, "--capacity").out
