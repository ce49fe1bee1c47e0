"""Windows that cannot become records are refused, with their number and the first of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sharder_features import Window, make_features, relabelled, windows

ROWS = windows(120, each=2)


def test_no_group_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """With the number of such windows, the first of them, and the three ways out."""
    features = make_features(tmp_path, [relabelled(ROWS, 3, group=None)])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "none in 1 of 240 windows, the first b/00001.wav, window 1" in ran.err
    assert "--ungrouped by-recording" in ran.err
    assert "" == ran.out


def test_no_label_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """A class cannot be learned from a window that has none; an empty label is none."""
    features = make_features(tmp_path, [relabelled(ROWS, 0, label="")])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "a label for every window" in ran.err
    assert str(features.folder) in ran.err
    assert "--target number" in ran.err


def test_a_label_outside_the_vocabulary_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Named, with the window that has it."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, "--labels", "a,b")
    assert 65 == ran.code
    assert "labels out of a, b" in ran.err
    assert "label 'c'" in ran.err


@pytest.mark.parametrize("target", [None, float("nan"), float("inf"), -1e39])
def test_a_target_that_is_no_number_is_refused(
    sharder: Callable, tmp_path: Path, target: float | None
) -> None:
    """Missing, NaN and infinite alike."""
    rows = [Window(f"{i}.wav", group=f"g{i}", target=1.0) for i in range(50)]
    features = make_features(tmp_path, [relabelled(rows, 7, target=target)])
    ran = sharder("run", features.folder, "--target", "number")
    assert 65 == ran.code
    assert "a finite number as target for every window" in ran.err


def test_a_window_twice_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """In one file or in two: with the window and the files."""
    features = make_features(tmp_path, [ROWS, ROWS[10:11]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "window 0 of channel -1 of c/00005.wav twice" in ran.err
    assert "00000-" in ran.err
    assert "00001-" in ran.err
