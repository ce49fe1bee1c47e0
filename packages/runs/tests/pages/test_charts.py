from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from audioloom_runs.pages.charts import (
    colour_keys,
    heat,
    heat_legend,
    histogram,
    line_chart,
    meter,
    reliability_chart,
    share_bar,
)
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.floats(-1e12, 1e12)


def points(chart: str) -> list[tuple[float, float]]:
    """The corners of its lines."""
    found = re.findall(r'<polyline points="([^"]*)"', chart)
    pairs = [pair.split(",") for line in found for pair in line.split()]
    return [(float(x), float(y)) for x, y in pairs]


def test_nothing_is_not_drawn() -> None:
    """No axes around nothing; nor around what is not finite."""
    for lines in ({}, {"train": []}, {"train": [(1.0, float("nan")), (2.0, -1.7e308)]}):
        assert "Nothing to draw." in line_chart(lines, x="epoch", y="loss")


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_any_values_are_inside(values: list[float]) -> None:
    """One point, equal ones, huge ones: well-formed, and no corner outside the picture."""
    chart = line_chart({"a<b": [*enumerate(values, 1)]}, x="epoch", y="loss")
    ET.fromstring(chart)  # noqa: S314  (our own)
    assert all(0 <= x <= 440 and 0 <= y <= 250 for x, y in points(chart))
    assert len(values) == len(points(chart))


@pytest.mark.parametrize("epoch", [0, 1, 10**9, 10**17, 10**149])
def test_an_epoch_of_any_size_is_inside(epoch: int) -> None:
    """Where a half more or less is the same number, too."""
    chart = line_chart({"a": [(epoch, 1.0)]}, x="epoch", y="loss")
    assert [(242.0, 111.0)] == points(chart)


def test_higher_is_higher() -> None:
    """Later is to the right, more is up, and the axes say how much."""
    chart = line_chart({"train": [(1, 0.0), (2, 1.0), (3, 0.5)]}, x="epoch", y="loss")
    (x1, y1), (x2, y2), (x3, y3) = points(chart)
    assert x1 < x2 < x3
    assert y2 < y3 < y1
    assert {"0.0", "1.0", "1", "3"} <= set(re.findall(r">([0-9.]+)</text>", chart))


def test_the_parts_of_a_bar_fill_it() -> None:
    """Side by side, each in a colour of its own that it keeps when another part is 0."""
    parts = {f"part {number}": float(number) for number in range(11)}
    bar = ET.fromstring(share_bar(parts, "s"))  # noqa: S314  (our own)
    rects = [each.attrib for each in bar.find("svg").iter("rect")]  # type: ignore[union-attr]
    assert 10 == len({each["fill"] for each in rects})
    ends = [float(each["x"]) + float(each["width"]) for each in rects]
    assert [0.0, *ends[:-1]] == pytest.approx([float(each["x"]) for each in rects], abs=1e-3)
    assert 900.0 == pytest.approx(ends[-1])
    alone = ET.fromstring(share_bar(parts | {"part 1": 0.0}, "s"))  # noqa: S314  (our own)
    assert rects[1]["fill"] == next(alone.find("svg").iter("rect")).attrib["fill"]  # type: ignore[union-attr]


def test_each_bin_with_records_has_a_bar() -> None:
    """As high as its accuracy; a bin without records has none."""
    bins = [
        {"records": 2, "confidence": 0.2, "accuracy": 0.0},
        {"records": 0, "confidence": None, "accuracy": None},
        {"records": 4, "confidence": 0.9, "accuracy": 1.0},
    ]
    chart = ET.fromstring(reliability_chart(bins))  # noqa: S314  (our own)
    heights = [float(bar.attrib["height"]) for bar in chart.iter("rect")]
    assert [0.0, 198.0] == heights


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300))
def test_a_histogram_counts_every_value(values: list[float]) -> None:
    """Each is in one bar, inside the picture; zeros and one very long recording too."""
    chart = ET.fromstring(histogram(values, x="seconds", y="recordings"))  # noqa: S314  (our own)
    bars = [*chart.iter("rect")]
    counts = [int(str(bar[0].text).rpartition(": ")[2].replace(",", "")) for bar in bars]
    assert len(values) == sum(counts)
    assert all(58 <= float(bar.attrib["x"]) <= 426 for bar in bars)
    assert all(float(bar.attrib["width"]) > 0 for bar in bars)


def test_the_longest_of_a_histogram_share_a_bar() -> None:
    """So that one value of two hours does not press all others into one bar."""
    chart = histogram([*range(1, 1000), 7200.0], x="seconds", y="recordings")
    assert 20 < chart.count("<rect") < 23
    assert "1000 to more: 1<" in chart


def test_the_parts_of_a_meter_lie_side_by_side() -> None:
    """Each in the colour that the legend gives it."""
    bar = ET.fromstring(meter([0.25, 0.5]))  # noqa: S314  (our own)
    rects = [(rect.attrib["x"], rect.attrib["width"]) for rect in bar]
    assert [("0", "25"), ("25", "50")] == rects
    keys = re.findall(r'fill="(#[0-9a-f]+)"', colour_keys(["train", "val"]))
    assert keys == [rect.attrib["fill"] for rect in bar]


VALUES = st.none() | st.floats(-1e300, 1e300)


def area(picture: str) -> float:
    """The area that the paths of a picture cover, in cells."""
    pieces = re.findall(r"h([0-9.e+]+)v([0-9.e+]+)", picture)
    return sum(float(width) * float(height) for width, height in pieces)


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=9))
def test_each_value_is_drawn_and_nothing_else(matrix: list[list[float | None]]) -> None:
    """Beyond the limits too; where there is no value there is no colour."""
    picture = heat(matrix, (-1.0, 1.0), label="a<b")
    assert sum(value is not None for row in matrix for value in row) == area(picture)
    assert 16 >= len(ET.fromstring(picture))  # noqa: S314  (our own)


def test_the_first_row_is_at_the_bottom() -> None:
    """Dark is low and yellow is high; neighbours of one shade are one piece."""
    drawn = ET.fromstring(  # noqa: S314  (our own)
        heat([[0, 0, 0], [1, None, 1]], (0, 1), label="x", cell=(2, 5))
    )
    paths = {path.attrib["fill"]: path.attrib["d"] for path in drawn}
    assert {"#440154": "M0 5h6v5h-6z", "#fde725": "M0 0h2v5h-2zM4 0h2v5h-2z"} == paths
    assert "0 0 6 10" == drawn.attrib["viewBox"]


def test_equal_limits_are_the_brightest_shade() -> None:
    """As of counts that are all 1."""
    assert 'fill="#fde725"' in heat([[1]], (1, 1), label="x")


def test_a_legend_has_all_shades_in_order() -> None:
    """Between its two texts."""
    legend = heat_legend("1", "9 recordings")
    assert 16 == len(set(re.findall(r'fill="(#[0-9a-f]{6})"', legend)))
    assert re.search(r">1 <svg.*</svg> 9 recordings<", legend)
