"""Filters leave windows out as requested, and verify finds those that they should have left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sharder_features import make_features, windows
from sharder_forging import relist
from sharder_runs import committed, contents

ROWS = windows(120, each=2)


def test_windows_are_left_out_as_asked_for(sharder: Callable, tmp_path: Path) -> None:
    """The rest is what it would be if they had never been there; what was left out is counted."""
    odd = [
        replace(row, flags=("silent",), seconds=0.2) if at % 7 == 0 else row
        for at, row in enumerate(ROWS)
    ]
    calm = [row for at, row in enumerate(ROWS) if at % 7 and row.label in "ac"]
    words = ("--only-labels", "c,a", "--without-flags", "silent", "--min-seconds", "0.5")
    some = make_features(tmp_path / "some", [odd[:33], odd[33:]])
    ran = sharder("run", some.folder, *words)
    opened = committed(ran.out)
    whole = committed(sharder("run", make_features(tmp_path / "calm", [calm]).folder).out)
    assert contents(Path(whole.folder.path)) == contents(Path(opened.folder.path))
    others = sum(row.label == "b" for row in odd)
    left = {
        "another label": others,
        "flag silent": len(odd) - others - len(calm),
        "too short": 0,
    }
    assert left == opened.manifest.stats.excluded
    assert f"{others} windows are left out (another label)" in ran.err
    assert 0 == sharder("verify", opened.folder).code
    other = sharder("run", some.folder, *words[:2])
    assert opened.manifest.name != committed(other.out).manifest.name


def test_filters_in_another_order_are_the_same(sharder: Callable, tmp_path: Path) -> None:
    """A set has no order, and its run one name."""
    features = make_features(tmp_path, [ROWS])
    names = {
        committed(sharder("run", features.folder, "--only-labels", words).out).manifest.name
        for words in ("a,b", "b,a")
    }
    assert 1 == len(names)


def test_filters_that_leave_nothing_are_refused(sharder: Callable, tmp_path: Path) -> None:
    """With the counts that show why."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, "--only-labels", "z")
    assert 65 == ran.code
    assert f"none: {len(ROWS)} another label" in ran.err


def test_a_window_that_should_have_been_left_out_is_found(
    sharder: Callable, tmp_path: Path
) -> None:
    """`verify` filters the features again."""
    odd = [replace(row, flags=("silent",)) if not at else row for at, row in enumerate(ROWS)]
    features = make_features(tmp_path, [odd])
    opened = committed(sharder("run", features.folder).out)
    relist(opened, without_flags=("silent",))
    assert "{'flag silent': 1}" in sharder("verify", opened.folder).out
