from __future__ import annotations

from collections import Counter

import pytest
from audioloom_runs.capacity import (
    CALLS_PER_SECOND,
    Line,
    call_lines,
    calls,
    capacity_result,
    hours_of,
)


@pytest.mark.parametrize(
    ("amount", "verdict"), [(0, "green"), (5, "green"), (6, "amber"), (9, "amber"), (10, "red")]
)
def test_a_line_is_judged_by_its_limits(amount: float, verdict: str) -> None:
    """Amber beyond the first, red beyond the second."""
    assert verdict == Line("files", amount, limits=(5, 9)).verdict


def test_a_line_without_limits_is_green() -> None:
    """It is there to be read."""
    assert "green" == Line("recordings", 10**12).verdict


def test_a_new_file_takes_several_calls() -> None:
    """It is looked for, created, written, completed, looked at and renamed."""
    assert Counter({"stat": 2, "create": 1, "add block": 1, "complete": 1, "rename": 1}) == calls(
        files=1, blocks=1
    )


def test_the_time_of_calls_is_judged() -> None:
    """By what a NameNode answers; kinds that do not occur have no line."""
    counted = calls(opens=CALLS_PER_SECOND * 3600 * 2)
    found = {line.name: line for line in call_lines(counted, "less")}
    assert {"NameNode: open", "NameNode: time of all calls"} == found.keys()
    assert 2.0 == hours_of(counted) == found["NameNode: time of all calls"].amount
    assert "red" == found["NameNode: time of all calls"].verdict


def test_a_result_shows_what_to_change_where_it_is_not_green() -> None:
    """And says in one word how bad the worst line is."""
    lines = [
        Line("bytes", 2_000_000, "B", advice="nothing"),
        Line("files", 1_234_567, limits=(5, 10**9), advice="larger units"),
        Line("time", 0.5, "h"),
    ]
    result = capacity_result(lines, {"name": "x"})
    text = str(result.text)
    assert "2.0 MB" in text
    assert "1,234,567" in text
    assert "0.50 h" in text
    assert "larger units" in text
    assert "nothing" not in text
    assert ("x", "amber") == (result.data["name"], result.data["verdict"])
    bytes_, files, _ = result.data["capacity"]  # type: ignore[misc]
    assert {"name", "amount", "unit", "limits", "advice", "verdict"} == bytes_.keys()  # type: ignore[union-attr]
    assert [None, None] == bytes_["limits"]  # type: ignore[index,call-overload]
    assert [5, 10**9] == files["limits"]  # type: ignore[index,call-overload]
