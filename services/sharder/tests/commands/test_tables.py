"""Tables line up, and sizes read well."""

from __future__ import annotations

import pytest
from audioloom_sharder.commands.tables import bytes_text, table


def test_numbers_stand_right_and_words_left() -> None:
    """A row that is shorter than the head ends in a remark, which widens nothing."""
    rows = [("ab", "1", "x"), ("long", "1,000", "y"), ("z", "a remark that is long")]
    expected = "name  count  more\nab        1  x\nlong  1,000  y\nz     a remark that is long"
    assert expected == table(("name", "count", "more"), rows)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (16_100_000, "16.1 MB"), (134_217_728, "134 MB"),
     (999_600, "1.0 MB"), (5 * 10**15, "5000 TB")],
)  # fmt: skip
def test_sizes_have_three_digits(count: int, text: str) -> None:
    """Powers of ten."""
    assert text == bytes_text(count)


def test_a_label_steers_no_terminal() -> None:
    """Nor does it make another row: it comes from the data."""
    assert "label\n\\x1b[2J\\nb" == table(("label",), [("\x1b[2J\nb",)])
