"""Real runs of small recordings."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from audioloom_bench.measure import Lane
from audioloom_bench.scaling.pipeline import PATTERN, exponent, make_recordings, shortfall

SIZES = (10_000, 100_000, 300_000)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.2])
def test_the_exponent_is_that_of_the_growth(power: float) -> None:
    """Whatever the factor."""
    assert pytest.approx(power) == exponent(SIZES, [7 * size**power for size in SIZES])


def test_what_any_set_takes_lowers_it() -> None:
    """Such as the start of Spark."""
    assert exponent(SIZES, [30 + size / 1000 for size in SIZES]) < 1


def test_growth_beyond_proportion_is_named() -> None:
    """With the command and what grew."""
    lanes = [
        Lane("shard", "growth, time", 1.2, "exponent", math.nan, math.nan),
        Lane("scan", "growth, time", 1.0, "exponent", math.nan, math.nan),
        Lane("shard", "10 recordings, time", 99.0, "s", math.nan, math.nan),
    ]
    (told,) = shortfall(lanes)
    assert "shard, growth, time: exponent 1.200, expected at most 1.05" == told


def test_recordings_lie_in_folders_of_labels_and_speakers(tmp_path: Path) -> None:
    """As many as asked for, few of them with a content of their own."""
    make_recordings(tmp_path / "source", 250)
    found = list((tmp_path / "source").glob("campaign-*/*/s*-*.wav"))
    assert 250 == len(found)
    matches = [re.fullmatch(PATTERN, str(path.relative_to(tmp_path / "source"))) for path in found]
    assert 125 == len({match["group"] for match in matches if match})
    assert 7 == len({match["label"] for match in matches if match})
    assert 20 == len({path.stat().st_ino for path in found})
