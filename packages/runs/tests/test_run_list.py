from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.publication import commit
from audioloom_runs.run_list import date_text, list_runs, show_runs
from audioloom_runs.settings import ListSettings
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import JSON, Result
from audioloom_storage import Location, PermissionDenied, read_bytes
from manifest_runs import STATS, attempt, commit_one, plan, write


def listed(root: Location) -> Result:
    return list_runs(
        ListSettings(root=str(root)),
        ("recordings", "features"),
        columns=("windows", "labels"),
        committed=more_of,
        uncommitted=lambda folder: {"state": "failed"} if folder.name == "broken" else {},
    )


def more_of(opened: Any) -> dict[str, JSON]:
    return {"windows": opened.manifest.stats.windows, "labels": {"yes": 1200, "no": 2}}


@pytest.fixture
def runs(root: Location) -> Location:
    """One run of each state."""
    commit_one(root, name="done")
    write(root / "features" / "half", "unit.parquet", b"x" * 1500)
    write(root / "features" / "broken", "unit.parquet", b"x")
    Path(commit_one(root, name="torn").opened.location.path).write_text("{")
    alien = commit_one(root, name="alien").opened
    (Path(root.path) / "recordings").mkdir()
    Path(alien.folder.path).rename(Path(root.path) / "recordings" / "alien")
    return root


def test_every_state_is_told_apart(runs: Location) -> None:
    """With the date and the size of each, and the same keys."""
    found: Any = listed(runs).data["runs"]
    rows = {each["name"]: each for each in found}
    assert {
        "done": "committed",
        "half": "unfinished",
        "broken": "failed",
        "torn": "unreadable",
        "alien": "unreadable",
    } == {name: row["state"] for name, row in rows.items()}
    for name, row in rows.items():
        assert {"kind", "name", "location", "state", "changed", "seconds", "bytes"} <= (row.keys())
        assert row["location"] == str(runs / row["kind"] / name)
        assert row["changed"].endswith("+00:00")
    assert rows["done"]["seconds"] is not None
    assert rows["half"]["seconds"] is None
    assert (len(b"windows"), 1500) == (rows["done"]["bytes"], rows["half"]["bytes"])
    assert "JSON" in rows["torn"]["detail"]
    assert "expected a recordings manifest, found a features manifest" == rows["alien"]["detail"]


def test_the_table_has_a_line_for_each(runs: Location) -> None:
    """Columns of the stage, sizes and dates for people."""
    lines = str(listed(runs).text).splitlines()
    head = ["kind", "name", "state", "changed", "duration", "bytes", "windows", "labels", "detail"]
    assert head == lines[0].split()
    (done,) = (line.split() for line in lines if " done " in line)
    assert ["s", "7", "B", "1", "yes=1,200", "no=2"] == done[-6:]
    (half,) = (line for line in lines if " half " in line)
    assert half.endswith(" 1.5 kB")
    assert 6 == len(lines)


def test_an_empty_root_says_so(root: Location) -> None:
    """No table of nothing."""
    answer = listed(root)
    assert (f"no runs under {root}", []) == (answer.text, answer.data["runs"])


def test_a_missing_root_is_told(root: Location) -> None:
    """It may be misspelt."""
    with pytest.raises(InputMissing):
        listed(root / "nothing")


def test_an_empty_folder_is_a_run_of_no_date(root: Location) -> None:
    """It was begun, and nothing was written."""
    (Path(root.path) / "features" / "begun").mkdir(parents=True)
    found: Any = listed(root).data["runs"]
    assert (None, 0) == (found[0]["changed"], found[0]["bytes"])


def test_the_newest_run_is_the_last(root: Location) -> None:
    """A terminal shows the end of a long list; a run without a date comes first."""
    dates = {"a": "2026-03-01T00:00:00", "b": None, "c": "2026-01-01T00:00:00"}
    found = show_runs(root, [{"name": n, "changed": at} for n, at in dates.items()], ["name"])
    assert ["b", "c", "a"] == [row["name"] for row in found.data["runs"]]  # type: ignore[index,union-attr]


def test_the_duration_is_that_of_all_attempts(root: Location) -> None:
    """Of the whole run where it was measured, in seconds for programs."""
    made = plan(root, name="done")
    by = attempt()
    by.seconds.update({"steps": 3600.0, "restart": 130.0})
    commit(made, by, [write(made.folder, "a.parquet", b"x")], STATS)
    answer = listed(root)
    found: Any = answer.data["runs"]
    assert 3730 == found[0]["seconds"]
    assert "1 h 2 min" in str(answer.text)


def test_a_time_beyond_all_years_is_the_last_one() -> None:
    """Whoever may write a file may give it such a time."""
    assert "9999-12-31T23:59:59+00:00" == date_text(300_000_000_000 * 10**9)


def test_a_run_that_another_user_keeps_closed_is_listed(
    runs: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list has it beside the others, and says that it may not be read."""

    def closed(folder: Location, **_: object) -> None:
        raise PermissionDenied("permission denied", where=folder / "attempts")

    monkeypatch.setattr("audioloom_runs.run_list.walk", closed)

    def closed_as_a_whole(where: Location, *, limit: int) -> bytes:
        if where.parent.name == "broken":
            closed(where.parent)
        return read_bytes(where, limit=limit)

    monkeypatch.setattr("audioloom_manifest.reader.read_bytes", closed_as_a_whole)
    states = {row["name"]: row["state"] for row in listed(runs).data["runs"]}
    assert {"done": "committed", "half": "unreadable", "broken": "unreadable"}.items() <= (
        states.items()
    )
