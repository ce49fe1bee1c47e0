"""`why` compares the planned run with the nearest finished one, and reads no features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sharder_features import make_features, windows


def test_missing_features_are_told(sharder: Callable, tmp_path: Path) -> None:
    """Exit code 66, as for `run`."""
    assert 66 == sharder("why", tmp_path / "nothing").code


def test_the_same_words_need_no_run(sharder: Callable, tmp_path: Path) -> None:
    """Without reading the features, whose files may be elsewhere by now."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    made = sharder("run", features.folder).out.strip()
    for entry in features.files():
        Path(features.folder.path, entry.path).unlink()
    ran = sharder("why", features.folder)
    assert (0, f"already there: {made}") == (ran.code, ran.out.splitlines()[0])
    assert "nothing to do" in ran.out


def test_settings_are_told_by_their_options(sharder: Callable, tmp_path: Path) -> None:
    """Ratios and weights too, which are several values of one option."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    words = ("--split", "train=0.8,val=0.2", "--class-weights", "a=2", "--seed", "3")
    assert 0 == sharder("run", features.folder, *words).code
    told = sharder("why", features.folder, "--split", "train=0.7,val=0.3").out.splitlines()
    assert {
        "  --split train is 0.7; it was 0.8",
        "  --split val is 0.3; it was 0.2",
        "  --class-weights a is not set; it was 2",
        "  --seed is 0 by default; it was 3",
    } == {*told[2:]}


def test_an_input_that_was_added_is_told(sharder: Callable, tmp_path: Path) -> None:
    """By its name."""
    one = make_features(tmp_path, [windows(60, groups=30)])
    two = make_features(tmp_path, [windows(90, groups=30)], source="two")
    assert 0 == sharder("run", one.folder).code
    data = sharder("why", one.folder, two.folder, "--json").data
    added = [each for each in data["differences"] if each["section"] == "inputs"]
    (only,) = added
    assert ("audioloom.sharder.why", "new") == (data["kind"], data["state"])
    assert ("inputs", "features", None) == (only["section"], only["key"], only["before"])
    assert f"the input features is {two.manifest.name} (" in only["text"]
