from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from audioloom_storage import locate
from audioloom_trainer.errors import PeerLost
from audioloom_trainer.runs import progress
from audioloom_trainer.runs.progress import ProgressFile

COMMON = {"rank": 0, "attempt": 1}


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "progress/0.jsonl").read_text().splitlines()]


def test_a_folder_that_takes_no_file_ends_nothing(tmp_path: Path) -> None:
    """Progress is for people; the training goes on."""
    (tmp_path / "progress").write_text("in the way")
    file = ProgressFile(locate(tmp_path), 0, COMMON)
    file.event("start")
    file.step(step=1)
    assert "in the way" == (tmp_path / "progress").read_text()


def test_a_metric_with_the_name_of_a_field_does_not_replace_it(tmp_path: Path) -> None:
    """The line says which process noted what and when; the history has the metric."""
    file = ProgressFile(locate(tmp_path), 0, COMMON)
    file.event("epoch", event=0.1, rank=0.2, self=0.3, time=0.4)
    (line,) = lines(tmp_path)
    assert ("epoch", 0, 0.3) == (line["event"], line["rank"], line["self"])
    assert 0.4 != line["time"]


def test_storage_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not written meanwhile is written when it is there again."""
    back, begun, real, asked = threading.Event(), threading.Event(), progress.publish, []

    def away(where: object, data: bytes) -> None:
        asked.append(data)
        begun.set()
        back.wait(60.0)
        real(where, data)  # type: ignore[arg-type]

    monkeypatch.setattr(progress, "publish", away)
    monkeypatch.setattr(progress, "MOST_SECONDS", 0.01)
    clock = Clock()
    file = ProgressFile(locate(tmp_path), 0, COMMON, clock=clock)
    file.event("start", step=0)
    assert begun.wait(60.0)
    file.event("epoch", step=1)
    clock.now += 5.0
    file.step(step=2)
    assert 1 == len(asked)
    back.set()
    monkeypatch.setattr(progress, "MOST_SECONDS", 60.0)
    file.event("done", step=3)
    assert [0, 1, 2, 3] == [line["step"] for line in lines(tmp_path)]


def test_a_failure_is_noted_with_the_peers_that_were_lost(tmp_path: Path) -> None:
    """By address and rank; any other failure by its name."""
    file = ProgressFile(locate(tmp_path), 0, COMMON)
    with pytest.raises(PeerLost), file.failure_noted():
        raise PeerLost("a peer was lost", lost={1: "b:1", 2: "c:1"})
    with pytest.raises(ValueError, match="no"), file.failure_noted():
        raise ValueError("no")
    peers, other = lines(tmp_path)
    assert (["b:1", "c:1"], [1, 2]) == (peers["peers"], peers["peer_ranks"])
    assert ("failed", "ValueError", "no") == (other["event"], other["error"], other["text"])
    assert "peers" not in other


def test_steps_are_written_seldom_and_events_at_once(tmp_path: Path) -> None:
    """Storage cannot append, so each write is of the whole."""
    clock = Clock()
    file = ProgressFile(locate(tmp_path), 0, COMMON, clock=clock)
    file.event("start", step=0)
    file.step(step=1)
    assert ["start"] == [line["event"] for line in lines(tmp_path)]
    clock.now += 5.0
    file.step(step=2, loss=0.5)
    assert [0, 1, 2] == [line["step"] for line in lines(tmp_path)]
    assert {"time", "event", "rank", "attempt", "step", "loss"} == lines(tmp_path)[-1].keys()


def test_only_the_last_steps_stay(tmp_path: Path) -> None:
    """Those of epochs and other events all do."""
    file = ProgressFile(locate(tmp_path), 0, COMMON)
    for epoch in range(3):
        for step in range(50):
            file.step(step=50 * epoch + step)
        file.event("epoch", epoch=epoch + 1)
    found = lines(tmp_path)
    assert 3 == sum(line["event"] == "epoch" for line in found)
    steps = [line["step"] for line in found if line["event"] == "step"]
    assert list(range(130, 150)) == steps


def test_a_later_attempt_goes_on_in_the_file(tmp_path: Path) -> None:
    """The story of a run is the story of all its attempts."""
    ProgressFile(locate(tmp_path), 0, COMMON).event("start")
    ProgressFile(locate(tmp_path), 0, COMMON | {"attempt": 2}).event("start")
    assert [1, 2] == [line["attempt"] for line in lines(tmp_path)]


def test_progress_behind_a_link_is_not_replaced(tmp_path: Path) -> None:
    """It is another run's."""
    other, run = tmp_path / "other", tmp_path / "run"
    ProgressFile(locate(other), 0, COMMON).event("start")
    before = lines(other)
    run.mkdir()
    (run / "progress").symlink_to(other / "progress")
    ProgressFile(locate(run), 0, COMMON).event("end")
    assert before == lines(other)


def test_a_launcher_gets_the_lines_in_a_file_of_this_machine(tmp_path: Path) -> None:
    """Each event, and now and then a step; the trainer publishes nothing itself."""
    clock, local = Clock(), tmp_path / "local"
    local.touch()
    file = ProgressFile(locate(tmp_path), 0, COMMON, str(local), clock)
    file.event("start", step=0)
    file.step(step=1)
    clock.now += 2.0
    file.step(step=2)
    with pytest.raises(ValueError, match="no"), file.failure_noted():
        raise ValueError("no")
    found = [json.loads(line) for line in local.read_text().splitlines()]
    assert ["start", "step", "failed"] == [line["event"] for line in found]
    assert [0, 2] == [line["step"] for line in found[:2]]
    assert not (tmp_path / "progress").exists()


def test_a_line_has_what_is_measured_when_it_is_noted(tmp_path: Path) -> None:
    """And the fields that are known from some line on; what `line` returns is not written."""
    numbers = iter(range(9))
    file = ProgressFile(locate(tmp_path), 0, COMMON, measured=lambda: {"seconds": next(numbers)})
    file.event("start")
    file.always(from_step=7)
    assert {**COMMON, "seconds": 1, "from_step": 7}.items() <= file.line("end").items()
    file.event("done")
    found = [(line["event"], line["seconds"], line.get("from_step")) for line in lines(tmp_path)]
    assert [("start", 0, None), ("done", 2, 7)] == found


def test_the_last_steps_of_an_earlier_process_are_kept(tmp_path: Path) -> None:
    """They tell how far it came, however many steps follow."""
    clock = Clock()
    for since in (1.0, 2.0):
        measured = dict.fromkeys(["since"], since)
        file = ProgressFile(locate(tmp_path), 0, COMMON, clock=clock, measured=measured.copy)
        for step in range(50):
            file.step(step=step)
        file.event("done")
    steps = [line["since"] for line in lines(tmp_path) if line["event"] == "step"]
    assert [1.0] * 20 + [2.0] * 20 == steps


def test_a_file_of_the_launcher_that_is_not_there_is_no_loss(tmp_path: Path) -> None:
    """As in a container of the user's own, which does not see it: the trainer publishes itself."""
    ProgressFile(locate(tmp_path), 0, COMMON, str(tmp_path / "local")).event("start")
    assert ["start"] == [line["event"] for line in lines(tmp_path)]


def test_a_file_of_the_launcher_that_goes_away_ends_nothing(tmp_path: Path) -> None:
    """The launcher has died, and this process ends with it."""
    local = tmp_path / "folder" / "local"
    local.parent.mkdir()
    local.touch()
    file = ProgressFile(locate(tmp_path), 0, COMMON, str(local))
    local.unlink()
    local.parent.rmdir()
    file.event("start")
    assert [] == [*tmp_path.iterdir()]
