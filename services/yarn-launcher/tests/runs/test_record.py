"""What every record of a run has in common."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import parse_manifest
from audioloom_stage.exit_codes import ExitCode, exit_code
from audioloom_stage.redaction import MASK
from audioloom_storage import locate
from audioloom_yarn_launcher.rendezvous.backend import Arrival
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import AttemptEnd, WorkerEnd
from audioloom_yarn_launcher.runs.record import check_manifest, read_record, record_bytes


def ended(secret: str) -> AttemptEnd:
    """A record of how an attempt ended; every text of others in it holds the secret."""
    told = f"error: no access with --token {secret}"
    return AttemptEnd(
        attempt=1,
        generation=0,
        launch="l",
        started="2026-01-01T00:00:00Z",
        ended=None,
        outcome="failed",
        exit_code=1,
        cause=Cause("exit", told, 1, tail=f"ü\nHF_TOKEN={secret}\nyes"),
        workers=(
            WorkerEnd(
                rank=0, worker="worker_0", host="n1", worker_pid=1, address="n1:1", end="lost",
                cause=told,
            ),
        ),
        arrivals=(Arrival("worker_1", "unregistered", since_s=1.5, reason=told, tail=told),),
    )  # fmt: skip


def test_no_record_holds_what_a_worker_said_that_is_secret(tmp_path: Path) -> None:
    """Causes, last words, and how far each worker came; the rest is read as it was written."""
    (tmp_path / "1.json").write_bytes(record_bytes(ended("hunter2")))
    assert ended(MASK) == read_record(locate(tmp_path / "1.json"), AttemptEnd)


def test_a_record_without_a_secret_is_what_it_says() -> None:
    """Two spaces of indent, in the order of the fields, and not in ASCII."""
    record = ended(MASK)
    assert record.model_dump_json(indent=2) + "\n" == record_bytes(record).decode()
    assert "ü" in record_bytes(record).decode()
    assert "version" == next(iter(json.loads(record_bytes(record))))


CASES = Path(__file__).parents[4] / "shared/contracts/conformance/cases"
FIXTURE = CASES / "training-run-minimal/input/manifest.json"


@pytest.mark.parametrize(
    "text",
    ['{"kind":"training-run"', "", "null", "[]", '{"kind": "x", "version": "1.0"}', "[" * 10**5],
    ids=["cut off", "empty", "null", "a list", "unknown", "deep"],
)
def test_a_manifest_that_is_damaged_is_none_to_answer_with(tmp_path: Path, text: str) -> None:
    """65, and it is named."""
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(ManifestError) as caught:
        check_manifest(locate(path))
    assert (ExitCode.BAD_DATA, str(path)) == (exit_code(caught.value), str(caught.value.where))


def test_a_manifest_that_was_made_up_is_none_to_answer_with(tmp_path: Path) -> None:
    """It holds as long as its identity is that of its content."""
    like = parse_manifest(FIXTURE.read_bytes(), FIXTURE, "training-run")[1]
    folder = locate(tmp_path) / "runs/mine"
    (tmp_path / "runs/mine").mkdir(parents=True)
    (tmp_path / "runs/mine/w").write_text("abc")
    entry = FileEntry(path="w", bytes=3, sha256=sha256(b"abc").hexdigest(), role="weights")
    plan = Plan("training-run", "mine", folder, like.recipe, like.inputs)
    commit(plan, Attempt(like.producer, "h"), [entry], like.stats)
    path = tmp_path / "runs/mine/manifest.json"
    check_manifest(locate(path))
    value = json.loads(path.read_text())
    value["recipe"]["epochs"] += 1
    path.write_text(json.dumps(value))
    with pytest.raises(ManifestError, match="made up"):
        check_manifest(locate(path))


@pytest.mark.parametrize("text", ["{}", '{"epochs": 3, "files": []}'])
def test_another_program_s_own_manifest_counts_as_it_is(tmp_path: Path, text: str) -> None:
    """What is behind `--` need not know of ours."""
    (tmp_path / "manifest.json").write_text(text)
    check_manifest(locate(tmp_path / "manifest.json"))
