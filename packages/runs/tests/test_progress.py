from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audioloom_runs.progress import last_progress, read_progress, training_state
from audioloom_storage import Entry, Location, list_folder, locate

NOW = datetime.now(UTC).isoformat()


def note(root: Location, name: str, *lines: object) -> None:
    """A file of the run folder with a JSON object a line."""
    file = Path(root.path, name)
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    """What a crash or a full disk has left is no reason to lose the rest."""
    (tmp_path / "0.jsonl").write_bytes(b'{"a": 1}\n[2]\n\xff\n{"b":\n{"c": 3}\n' + b"[" * 99_999)
    assert [{"a": 1}, {"c": 3}] == read_progress(locate(tmp_path / "0.jsonl"))
    assert [] == read_progress(locate(tmp_path / "1.jsonl"))


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    """A text may hold the other characters that Unicode calls ends of lines."""
    text = "one\u2028two\u0085three"
    line = json.dumps({"event": "failed", "text": text}, ensure_ascii=False)
    (tmp_path / "0.jsonl").write_text(f"{line}\n")
    assert [{"event": "failed", "text": text}] == read_progress(locate(tmp_path / "0.jsonl"))


def test_the_newest_line_of_each_worker_counts(root: Location) -> None:
    """Of its own file, or of the newest file of the launcher."""
    assert {} == last_progress(root)
    note(root, "progress/0.jsonl", {"step": 1}, {"step": 2})
    note(root, "progress/2.9.jsonl", {"rank": 1, "event": "step", "step": 3})
    note(root, "progress/2.10.jsonl", {"rank": 1, "event": "step", "step": 4}, {"rank": 1})
    note(root, "progress/3.1.jsonl", {"rank": True, "event": "step", "step": 5})
    note(root, "progress/notes.txt", {"rank": 0, "event": "step", "step": 9})
    assert {"0": 2, "1": 4} == {rank: line["step"] for rank, line in last_progress(root).items()}


def test_a_file_that_was_replaced_is_looked_for_again(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher removes a file when the next is there, perhaps between listing and reading."""
    note(root, "progress/2.1.jsonl", {"rank": 0, "event": "step", "step": 1})

    def replaced(folder: Location) -> list[Entry]:
        listed = [*list_folder(folder)]
        Path(root.path, "progress/2.1.jsonl").unlink(missing_ok=True)
        note(root, "progress/2.2.jsonl", {"rank": 0, "event": "step", "step": 2})
        return listed

    monkeypatch.setattr("audioloom_runs.progress.list_folder", replaced)
    assert 2 == last_progress(root)["0"]["step"]


def test_what_is_no_file_of_progress_is_passed_over(root: Location) -> None:
    """Whoever may write to the folder may put a folder or a pipe there."""
    Path(root.path, "progress", "0.jsonl").mkdir(parents=True)
    os.mkfifo(Path(root.path, "progress", "1.1.jsonl"))
    note(root, "progress/1.jsonl", {"step": 2})
    assert {"1": {"step": 2}} == last_progress(root)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([], {}),
        ([{"event": "step", "time": "yesterday"}], {}),
        ([{"event": "step"}], {"state": "running"}),
        ([{"event": "step", "time": "2020-01-01T00:00:00"}], {"state": "killed"}),
        ([{"event": "stopped"}], {"state": "stopped"}),
        ([{"event": "step"}, {"event": "failed"}], {"state": "failed", "detail": "NaN"}),
    ],
)
def test_progress_tells_the_state(
    root: Location, lines: list[dict[str, str]], state: dict[str, str]
) -> None:
    """Of two workers, one may have failed; who is silent for long was killed."""
    for rank, line in enumerate(lines):
        note(root, f"progress/{rank}.jsonl", {"time": NOW, "text": "NaN", **line})
    assert state == training_state(root)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ({"outcome": "failed", "cause": {"text": "no memory"}}, "failed"),
        ({"outcome": "failed", "cause": None}, "failed"),
        ({"outcome": "interrupted"}, "interrupted"),
        ({"outcome": "finished"}, "finished"),
        ({"outcome": "failed", "restarts": True}, "running"),
        ({"outcome": ["failed"]}, "running"),
        ([], "running"),
    ],
)
def test_the_end_of_the_last_attempt_tells_more(root: Location, end: Any, state: str) -> None:
    """A launcher saw what no worker could note, unless it begins another attempt."""
    note(root, "progress/0.jsonl", {"time": NOW, "event": "step"})
    note(root, "attempts/1.json", {"outcome": "interrupted"})
    Path(root.path, "attempts", "2.json").write_text(json.dumps(end, indent=2))
    found = training_state(root)
    assert state == found["state"]
    if state == "failed":
        assert ("no memory" if end["cause"] else "") == found["detail"]
    note(root, "attempts/3.started.json", {})
    assert "running" == training_state(root)["state"]


FAILED_1 = [{"rank": rank, "attempt": 1, "event": "failed", "time": NOW} for rank in (0, 1)]


@pytest.mark.parametrize("begun", [NOW, "2020-01-01T00:00:00Z"], ids=["now", "long ago"])
def test_a_failure_of_an_earlier_attempt_is_over(root: Location, begun: str) -> None:
    """A restarted training runs, before its workers note anything, and with fewer of them."""
    note(root, "progress/1.4.jsonl", *FAILED_1)
    note(root, "attempts/1.started.json", {"started": begun})
    assert "failed" == training_state(root)["state"]
    note(root, "attempts/1.json", {"outcome": "failed", "restarts": True, "ended": begun})
    waiting = {"state": "running"} if begun == NOW else {}
    assert waiting == training_state(root)
    note(root, "attempts/2.started.json", {"started": begun})
    assert waiting == training_state(root)
    note(root, "progress/2.1.jsonl", {"rank": 0, "attempt": 2, "event": "step", "time": NOW})
    assert {"state": "running"} == training_state(root)
    note(root, "progress/2.2.jsonl", {"rank": 0, "attempt": 2, "event": "failed", "text": "NaN"})
    assert {"state": "failed", "detail": "NaN"} == training_state(root)


@pytest.mark.parametrize(
    ("begun", "state"),
    [(NOW, "running"), ("2020-01-01T00:00:00Z", "failed")],
    ids=["now", "long ago"],
)
def test_without_a_number_of_the_attempt_the_time_decides(
    root: Location, begun: str, state: str
) -> None:
    """A worker without a launcher notes attempt 0, before or after the attempts of one."""
    line = {"attempt": 0, "event": "failed", "time": "2026-01-01T00:00:00Z"}
    note(root, "progress/0.jsonl", line)
    note(root, "attempts/1.started.json", {"started": begun})
    assert state == training_state(root)["state"]
