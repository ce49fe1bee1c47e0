"""`plan` of the launcher: a run, its containers, their share of a queue, and its cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.envelope import Cost
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location, PermissionDenied, locate
from audioloom_yarn_launcher.cli import main
from audioloom_yarn_launcher.commands.plan import plan
from audioloom_yarn_launcher.runs.attempts import AttemptStarted, begin
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.record import read_record
from audioloom_yarn_launcher.settings import RunSettings

CASE = Path(__file__).parents[4] / "shared/contracts/conformance/cases/training-run-1.1-complete"
TOLD = {
    "seconds": Cost(start=20, work=80, runs=2, least=60, likely=100, most=150, actual=None),
    "core_seconds": Cost(start=40, work=160, runs=2, least=120, likely=200, most=300, actual=None),
    "memory_bytes": Cost(start=1e9, work=0, runs=0, least=9e8, likely=1e9, most=2e9, actual=None),
}


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of the trainer's name that notes its words and answers as `plan --json` does."""
    program, answer = tmp_path / "bin" / "audioloom-trainer", tmp_path / "answer.json"
    program.parent.mkdir()
    costs = {name: each.to_json() for name, each in TOLD.items()}
    answer.write_text(json.dumps({"kind": "plan", "ok": True, "cost": costs}))
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "words = [*sys.argv[1:], os.environ['AUDIOLOOM_RUN_FOLDER']]\n"
        "(here / 'words').write_text('\\n'.join(words))\n"
        "print((here / 'answer.json').read_text())\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return tmp_path


def settings(root: Path, *command: str, **more: Any) -> RunSettings:
    command = command or ("audioloom-trainer", "run", "shards", "--epochs", "3")
    return RunSettings.model_validate({"root": str(root), "command": command, **more})


def test_a_trainer_is_asked_with_the_cores_and_the_folder_that_it_gets(
    trainer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of the user's come last, so they win; the time of the start is added."""
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    found: Any = plan(settings(trainer / "root", workers=4)).data
    *words, folder = (trainer / "words").read_text().splitlines()
    given = ["--threads=2", "--replicas=4", "--json", "--quiet"]
    assert ["plan", *given, "shards", "--epochs", "3"] == words
    assert found["location"] == folder
    assert ("new", 4, "local", None) == (
        found["state"], found["workers"], found["on"], found["queue_share"]
    )  # fmt: skip
    assert 100 < found["cost"]["seconds"]["likely"] < 110
    assert 2 == found["cost"]["seconds"]["runs"]
    assert TOLD["memory_bytes"].to_json() == found["cost"]["memory_bytes"]
    assert not (trainer / "root").exists(), "nothing is written"


def test_containers_hold_their_cores_and_memory(trainer: Path, answers: Any) -> None:
    """The application master's too; the queue tells its share."""
    limits = {"memory": 40_000, "vCores": 18}
    queue = {
        "queueName": "night",
        "maxEffectiveCapacity": limits,
        "resourcesUsed": {"memory": 30_000, "vCores": 2},
    }
    answers(200, {"scheduler": {"schedulerInfo": {"queues": {"queue": [queue]}}}})
    asked = {"on": "yarn", "workers": 4, "vcores": 2, "memory": "4GiB", "queue": "night"}
    result = plan(settings(trainer / "root", **asked))
    found: Any = result.data
    assert "--threads=2" in (trainer / "words").read_text()
    assert (4 * 4096 + 768) << 20 == found["cost"]["memory_bytes"]["likely"]
    seconds = found["cost"]["seconds"]["likely"]
    assert 9 * seconds == pytest.approx(found["cost"]["core_seconds"]["likely"])
    assert (0.5, 0.75) == (found["queue_share"], found["queue_used"])
    assert "queue share  night: 50% of its maximum, of which 75% is in use" in str(result.text)


def test_without_a_cluster_the_share_is_not_known(
    trainer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is told all the same."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(trainer))
    result = plan(settings(trainer / "root", on="yarn"))
    assert result.data["queue_share"] is None
    assert "queue share  default: unknown" in str(result.text)
    assert "core-hours" in str(result.text)


@pytest.mark.parametrize("answer", ["", "[]", '{"cost": {"seconds": {"likely": -1}}}', "{}"])
def test_a_trainer_that_does_not_answer_is_no_error(trainer: Path, answer: str) -> None:
    """It may be of another release, or refuse the words; then the time is not known."""
    (trainer / "answer.json").write_text(answer)
    result = plan(settings(trainer / "root"))
    assert {} == result.data["cost"]
    assert "time" in str(result.text)


@pytest.mark.parametrize("command", [("true",), ("audioloom-trainer", "evaluate", "x")])
def test_any_other_command_is_not_started(trainer: Path, command: tuple[str, ...]) -> None:
    """It might do its work."""
    result = plan(settings(trainer / "root", *command))
    assert {} == result.data["cost"]
    assert not (trainer / "words").exists()
    assert "not known: only that of audioloom-trainer run" in str(result.text)


def test_earlier_runs_tell_how_long_the_start_takes(trainer: Path) -> None:
    """In the same place: those of a cluster tell nothing of this machine."""
    root = trainer / "root"
    alone: Any = plan(settings(root)).data["cost"]
    for name, on in (("here", "local"), ("there", "yarn")):
        earlier(root, name, on)
    after: Any = plan(settings(root)).data["cost"]
    assert alone["seconds"]["likely"] + 3 < after["seconds"]["likely"] < 111


def test_an_earlier_run_that_cannot_be_read_tells_nothing(
    trainer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of its attempts is another user's own."""
    root = trainer / "root"
    alone: Any = plan(settings(root)).data["cost"]
    earlier(root, "here", "local")

    def read_others(where: Location, *given: Any) -> Any:
        if "runs/here" in where.path:
            raise PermissionDenied("this user may not read it")
        return read_record(where, *given)

    monkeypatch.setattr("audioloom_yarn_launcher.commands.plan.read_record", read_others)
    assert alone["seconds"] == plan(settings(root)).data["cost"]["seconds"]


def earlier(root: Path, name: str, on: str) -> None:
    """A committed run that waited ten seconds for its gang here, and a thousand there."""
    manifest: TrainingRunManifest = read_manifest(str(CASE / "input"), "training-run").manifest
    waited = {"localising": 8.0, "containers": 2.0 if on == "local" else 1000.0}
    execution = manifest.execution.model_copy(update={"seconds": waited})
    folder = locate(root) / "runs" / name
    Path(folder.path).mkdir(parents=True)
    text = json.dumps(manifest.model_copy(update={"execution": execution}).to_json())
    Path(folder.path, "manifest.json").write_text(text)
    begin(
        folder,
        AttemptStarted(
            attempt=1, generation=0, launch="0" * 32, started="2026-01-01T00:00Z", on=on, size=1,
            command=("x",), working_folder="", owner=this_process(),
        ),
    )  # fmt: skip


def test_the_command_line_has_it(trainer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the words of `run`, and the envelope of every result."""
    words = ["--root", str(trainer / "root"), "--json", "--", "audioloom-trainer", "run", "x"]
    assert 0 == main(["plan", *words])
    found = json.loads(capsys.readouterr().out)
    assert ("audioloom.yarn-launcher.plan", True) == (found["kind"], found["ok"])
    assert 100 < found["cost"]["seconds"]["likely"]
