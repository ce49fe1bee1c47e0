"""`plan` shows what `run` would do, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from audioloom_sharder.commands.plan import epoch_of
from audioloom_sharder.sharding.layout import SplitLayout
from sharder_features import Window, make_features, windows
from sharder_runs import committed

ROWS = windows(300, groups=150)


def _split(records: int, lanes: int = 24, shards: int = 24) -> SplitLayout:
    return SplitLayout(
        name="train", records=records, bytes=records * 100, lanes=lanes, shards=shards, first=0
    )


def test_replicas_that_do_not_divide_have_no_epoch() -> None:
    """Five replicas cannot share 24 lanes."""
    assert epoch_of(_split(1000), 5, 64) is None


@pytest.mark.parametrize(
    ("records", "replicas", "expected"),
    [(1000, 3, (16, 40, 334, 333)), (128, 1, (2, 64, 128, 128)), (24, 24, (1, 24, 1, 1))],
)
def test_an_epoch_is_counted(
    records: int, replicas: int, expected: tuple[int, int, int, int]
) -> None:
    """Steps, the last batch, and the records of the fullest and the emptiest replica."""
    epoch = epoch_of(_split(records), replicas, 64)
    assert epoch is not None
    assert expected == (epoch.steps, epoch.last_batch, epoch.most, epoch.least)


def test_a_plan_writes_nothing(sharder: Callable, tmp_path: Path) -> None:
    """Not a file, not a folder."""
    features = make_features(tmp_path, [ROWS])
    before = sorted(tmp_path.rglob("*"))
    assert 0 == sharder("plan", features.folder).code
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize("target", ["label", "number"])
def test_a_plan_is_what_comes_out(sharder: Callable, tmp_path: Path, target: str) -> None:
    """Splits, records, recordings, groups, labels, targets, shards, lanes, bytes and name."""
    rows = [replace(row, target=at / 7) for at, row in enumerate(ROWS)]
    features = make_features(tmp_path, [rows[:100], rows[100:]])
    words = (features.folder, "--target", target, "--json")
    planned, ran = (sharder(command, *words).data for command in ("plan", "run"))
    for split in planned["splits"].values():
        del split["replicas"]
    assert planned["splits"] == ran["splits"]
    assert planned["name"] == ran["name"]
    assert planned["labels"] == ran["labels"]
    assert (False, True) == (
        planned["committed"],
        sharder("plan", *words).data["committed"],
    )


def test_a_plan_shows_its_table(sharder: Callable, tmp_path: Path) -> None:
    """One line a split and a number of replicas; those that do not divide say which do."""
    features = make_features(tmp_path, [ROWS])
    text = sharder("plan", features.folder, "--replicas", "1,5", "--batch-size", "100").out
    assert "an epoch in global batches of 100 records" in text
    assert "does not divide 24 lanes; these do: 1, 2, 3, 4, 6, 8, 12, 24" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["test", "1", "1"] in [line[:3] for line in lines]


def test_a_plan_says_what_is_odd(sharder: Callable, tmp_path: Path) -> None:
    """Few records, missing labels: in the text and in the data."""
    rows = [Window(f"{i}.wav", group=f"g{i}", label="only") for i in range(60)]
    features = make_features(tmp_path, [rows])
    ran = sharder("plan", features.folder)
    assert "warning: there is only one label, 'only'" in ran.out
    assert any(
        "instead of 24" in note
        for note in sharder("plan", features.folder, "--json").data["warnings"]
    )


@pytest.mark.parametrize("words", [("--compression", "gzip"), ("--format", "orc")])
def test_a_plan_says_which_bytes_it_means(
    sharder: Callable, tmp_path: Path, words: Sequence[str]
) -> None:
    """Nobody knows what values shrink to before they were written."""
    features = make_features(tmp_path, [ROWS])
    assert "bytes are those of" in sharder("plan", features.folder, *words).out
    assert "bytes are those of" not in sharder("plan", features.folder).out


def test_a_plan_of_a_taken_name_says_so(sharder: Callable, tmp_path: Path) -> None:
    """As run would."""
    features = make_features(tmp_path, [ROWS])
    assert 0 == sharder("run", features.folder, "--name", "mine").code
    assert 73 == sharder("plan", features.folder, "--name", "mine", "--lanes", "12").code


def test_a_plan_predicts_what_the_run_notes(sharder: Callable, tmp_path: Path) -> None:
    """By constants before the first run, by that run before the next; `inspect` shows both."""
    features = make_features(tmp_path, [ROWS])
    first = sharder("plan", features.folder, "--json", "--master", "inline").data["cost"]
    assert {0} == {each["runs"] for each in first.values()}
    assert {0} != {each["likely"] for each in first.values()}
    shards = sharder("run", features.folder).out.strip()
    cost = sharder("inspect", shards, "--json").data["execution"]["cost"]
    assert cost["seconds"]["actual"] > 0
    written = sum(entry.bytes for entry in committed(shards).files())
    assert written == cost["stored_bytes"]["actual"]
    assert ", took " in sharder("inspect", shards).out
    again = sharder("plan", features.folder, "--seed", "9")
    assert "core-hours" in again.out
    assert ", by constants" in again.out, "inline tells nothing of Spark"


def test_a_run_that_was_killed_knows_no_time(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt left units, and the second one cannot say how long they took."""
    features = make_features(tmp_path, [ROWS])

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("audioloom_sharder.commands.run.commit", stop)
        assert 0 != sharder("run", features.folder).code
    opened = committed(sharder("run", features.folder).out)
    assert opened.manifest.execution.cost["seconds"].actual is None
