"""The wall time of a run is read from its folder alone, whatever lies in it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from audioloom_runs.goodput import LABELS
from audioloom_runs.run_times import wall_time, wall_time_table
from audioloom_storage import Location, publish
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LAUNCH = "a" * 32
SECONDS = {"importing": 4.0, "steps": 10.0, "end": 1.0}


def at(seconds: float) -> str:
    """A time of day as the records have it."""
    return f"2026-01-31T12:{int(seconds) // 60:02}:{seconds % 60:06.3f}Z"


def put(run: Location, files: Mapping[str, Any]) -> None:
    """Write records, and lines where the value is a list."""
    for name, value in files.items():
        lines = [json.dumps(each) for each in (value if isinstance(value, list) else [value])]
        publish(run / name, "".join(f"{line}\n" for line in lines).encode())


def launched(number: int, begin: float, end: float | None, **line: Any) -> dict[str, Any]:
    """The files of one attempt: begun at once, complete after three seconds."""
    files: dict[str, Any] = {
        f"attempts/{number}.started.json": {"started": at(begin), "launch": LAUNCH},
        f"attempts/{number}.members.json": {"formed": at(begin + 3), "localising_s": 1.0},
    }
    if end is not None:
        outcome = line.pop("outcome", "finished")
        files[f"attempts/{number}.json"] = {"ended": at(end), "outcome": outcome}
    if line:
        files[f"progress/{number}.1.jsonl"] = [{"rank": 0, "attempt": number, **line}, {"rank": 1}]
    return files


QUIET = launched(1, 10, 32, from_step=0, step=50, seconds=SECONDS) | {
    f"submissions/{LAUNCH}.json": {"submitted": at(0)}
}


def classes(**expected: float) -> dict[str, float]:
    """All classes, of which those that are not named took no time."""
    return dict.fromkeys(LABELS, 0.0) | expected


def test_a_folder_without_measurements_has_no_wall_time(root: Location) -> None:
    """An empty folder, and the run of another program."""
    assert {} == wall_time(root)
    put(root, launched(1, 0, 20, step=5))
    assert {} == wall_time(root)


def test_a_launched_run(root: Location) -> None:
    """The rest of an attempt that finished is its end."""
    put(root, QUIET)
    expected = classes(containers=12.0, localising=1.0, importing=4.0, steps=10.0, end=5.0)
    assert expected == pytest.approx(wall_time(root))


def test_only_the_newest_progress_of_an_attempt_counts(root: Location) -> None:
    """The file with the highest number; the numbers are not text."""
    older = {"rank": 0, "attempt": 1, "seconds": {"steps": 1.0}}
    put(root, QUIET | {"progress/1.10.jsonl": [older | {"seconds": {"steps": 2.0}}]})
    put(root, {"progress/1.9.jsonl": [older]})
    assert 2.0 == wall_time(root)["steps"]


def test_a_restart_and_its_lost_steps(root: Location) -> None:
    """The first attempt was killed after 50 steps, of which 30 were saved."""
    first = launched(1, 10, 32, from_step=0, step=50, outcome="failed", seconds=SECONDS)
    put(root, first | launched(2, 35, 60, from_step=30, step=80, seconds=SECONDS))
    found = wall_time(root)
    assert 50.0 == pytest.approx(sum(found.values()))
    assert (16.0, 4.0 + 4.0, 6.0) == (found["steps"], found["lost_steps"], found["restart"])


def test_the_newest_line_need_not_be_in_the_folder_yet(root: Location) -> None:
    """As of a trainer that commits: its attempt has no end, so its own clock says the end."""
    put(root, launched(1, 10, None))
    line = {"attempt": 1, "from_step": 0, "step": 9, "seconds": SECONDS}
    expected = classes(containers=2.0, localising=1.0, **SECONDS)
    assert expected == pytest.approx(wall_time(root, line))


def test_runs_without_a_launcher(root: Location) -> None:
    """Each session says when it began; the time between two is a restart."""
    killed = [
        {"event": "start", "attempt": 0, "since": 1000.0, "from_step": 0, "step": 0},
        {"event": "step", "attempt": 0, "since": 1000.0, "step": 10, "seconds": {"steps": 20.0}},
    ]
    killed[0]["seconds"] = {"importing": 2.0}
    again = {"attempt": 0, "since": 1050.0, "from_step": 5, "step": 20, "seconds": SECONDS}
    put(root, {"progress/0.jsonl": [*killed, again], "progress/1.jsonl": [again | {"since": 1.0}]})
    expected = {**SECONDS, "steps": 20.0, "lost_steps": 10.0, "restart": 30.0}
    assert classes(**expected) == pytest.approx(wall_time(root))


HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", at(3), LAUNCH]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*LABELS]), inner),
    max_leaves=8,
)
NAMES = ("since", "attempt", "from_step", "step", "seconds", "rank", "started", "launch", "formed")
RECORDS = st.dictionaries(
    st.sampled_from([*NAMES, "localising_s", "ended", "outcome", "submitted"]), HOSTILE
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(sorted(QUIET)), HOSTILE | RECORDS),
    removed=st.sets(st.sampled_from(sorted(QUIET))),
    number=st.integers(1, 10**9),
)
def test_missing_and_hostile_files_do_no_harm(
    root: Location, files: dict[str, Any], removed: set[str], number: int
) -> None:
    """Not a number, negative, huge, of a wrong type: the classes stay finite and not negative."""
    run = root / f"{number}"
    texts = {name: QUIET[name] for name in QUIET.keys() - removed} | files
    for name, value in texts.items():
        where = run / name
        lines = value if isinstance(value, list) else [value]
        try:
            publish(where, "".join(f"{json.dumps(each)}\n" for each in lines).encode())
        except Exception:  # noqa: BLE001 - the same number was drawn before
            return
    found = wall_time(run)
    assert all(0 <= value < 1e12 for value in found.values())


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"seconds": {}}\n' * 9]
)
def test_damaged_lines_are_passed_over(root: Location, data: bytes) -> None:
    """A file that was cut off, or is none of ours."""
    put(root, {name: QUIET[name] for name in QUIET if not name.startswith("progress/")})
    publish(root / "progress/1.1.jsonl", data)
    publish(root / "progress/0.jsonl", data)
    assert {} == wall_time(root)


def test_the_table_shows_what_took_time() -> None:
    """In the order of a run, with the sum."""
    lines = wall_time_table(classes(steps=7.5, restart=2.5)).splitlines()
    assert ["wall time", "steps", "restart", "all"] == [line.split("  ")[0] for line in lines]
    assert ["all", "10.0", "100.0%"] == lines[-1].split()
    assert ["steps", "7.5", "75.0%"] == lines[1].split()
