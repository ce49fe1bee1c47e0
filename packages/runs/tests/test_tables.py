from __future__ import annotations

import pytest
from audioloom_runs.tables import duration_text, facts, size_text, table, value_text

PATH = "/a/path/that/is/longer/than/the/terminal/is/wide"


def test_numbers_stand_right_and_words_left() -> None:
    """So that they can be compared down a column."""
    rows = [("a", "1", "1.2 kB"), ("long", "1,000", "30 B")]
    assert [
        "name  records   bytes",
        "a           1  1.2 kB",
        "long    1,000    30 B",
    ] == table(("name", "records", "bytes"), rows).splitlines()


def test_a_row_may_be_shorter_than_the_head() -> None:
    """Of a run that is not committed less is known."""
    assert "name  state\na     fine\nb" == table(("name", "state"), [("a", "fine"), ("b",)])


def test_a_table_without_rows_is_its_head() -> None:
    """And no error."""
    assert "name  state" == table(("name", "state"), [])


def test_what_a_terminal_would_obey_is_escaped() -> None:
    """Labels and paths come from outside; markup of rich is text like any other."""
    assert "label\n\\x1b[2J[red]x\\ny" == table(("label",), [("\x1b[2J[red]x\ny",)])


@pytest.mark.parametrize("columns", [40, 80])
def test_the_last_column_goes_on_below_itself(columns: int) -> None:
    """On a terminal; a path is never broken, whatever the width."""
    text = f"the reason is long and stands in {PATH} as everybody can read"
    lines = table(("name", "why"), [("a", text)], columns=columns).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("      ") for line in lines[2:])
    assert any(PATH in line for line in lines)
    assert max(len(line) for line in lines if PATH not in line) <= max(columns, len(PATH) + 6)


def test_where_nobody_reads_a_line_may_be_of_any_length() -> None:
    """A program that reads lines gets one for each row."""
    assert 2 == len(table(("why",), [("word " * 1000,)]).splitlines())


def test_facts_stand_behind_their_names() -> None:
    """A long one goes on below itself."""
    named = {"run": "x", "identity": "one two three four five six seven eight"}
    assert [
        "run       x",
        "identity  one two three four five six",
        "          seven eight",
    ] == facts(named, columns=42).splitlines()
    assert "" == facts({})


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_499, "99.5 kB"),
        (99_500, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (12 * 10**9, "12.0 GB"),
        (10**16, "10000 TB"),
    ],
)
def test_sizes_have_three_digits(size: int, text: str) -> None:
    """At any size."""
    assert text == size_text(size)


def test_durations_are_for_people() -> None:
    """Seconds, minutes, hours."""
    found = [duration_text(seconds) for seconds in (None, 0.4, 59.4, 60, 3725, 360_000)]
    assert ["", "0 s", "59 s", "1 min 0 s", "1 h 2 min", "100 h 0 min"] == found


def test_values_take_one_line() -> None:
    """Whatever a manifest holds; many numbers are counted."""
    values = (True, 1200, 0.12345678, (40, 313), {"a": None}, [0.5] * 9)
    texts = ["yes", "1200", "0.123457", "40, 313", "a none", "9 numbers"]
    assert texts == [value_text(value) for value in values]
