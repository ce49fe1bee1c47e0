from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from audioloom_runs.pages.heat import heat, heat_legend
from hypothesis import given
from hypothesis import strategies as st

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
