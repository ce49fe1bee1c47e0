from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from audioloom_runs.pages.charts import line_chart, reliability_chart
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
    for lines in ({}, {"train": []}, {"train": [(1.0, float("nan"))]}):
        assert "Nothing to draw." in line_chart(lines, x="epoch", y="loss")


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_any_values_are_inside(values: list[float]) -> None:
    """One point, equal ones, huge ones: well-formed, and no corner outside the picture."""
    chart = line_chart({"a<b": [*enumerate(values, 1)]}, x="epoch", y="loss")
    ET.fromstring(chart)  # noqa: S314  (our own)
    assert all(0 <= x <= 440 and 0 <= y <= 250 for x, y in points(chart))
    assert len(values) == len(points(chart))


def test_higher_is_higher() -> None:
    """Later is to the right, more is up, and the axes say how much."""
    chart = line_chart({"train": [(1, 0.0), (2, 1.0), (3, 0.5)]}, x="epoch", y="loss")
    (x1, y1), (x2, y2), (x3, y3) = points(chart)
    assert x1 < x2 < x3
    assert y2 < y3 < y1
    assert {"0.0", "1.0", "1", "3"} <= set(re.findall(r">([0-9.]+)</text>", chart))


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
