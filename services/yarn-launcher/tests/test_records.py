"""What every record of a run has in common."""

from __future__ import annotations

import json
from pathlib import Path

from audioloom_stage import MASK
from audioloom_storage import locate
from audioloom_yarn_launcher.attempts import Ended, FirstCause, WorkerEnd
from audioloom_yarn_launcher.records import read_record, record_bytes
from audioloom_yarn_launcher.rendezvous import Arrival


def ended(secret: str) -> Ended:
    """A record of how an attempt ended; every text of others in it holds the secret."""
    told = f"error: no access with --token {secret}"
    return Ended(
        attempt=1,
        generation=0,
        launch="l",
        started="2026-01-01T00:00:00Z",
        ended=None,
        outcome="failed",
        exit_code=1,
        cause=FirstCause(kind="exit", text=told, exit_code=1, tail=f"ü\nHF_TOKEN={secret}\nyes"),
        workers=(
            WorkerEnd(
                rank=0, worker="worker_0", host="n1", worker_pid=1, address="n1:1", end="lost",
                cause=told,
            ),
        ),
        arrivals=(Arrival("worker_1", "silent", since_s=1.5, reason=told, tail=told),),
    )  # fmt: skip


def test_no_record_holds_what_a_worker_said_that_is_secret(tmp_path: Path) -> None:
    """Causes, last words, and how far each worker came; the rest is read as it was written."""
    (tmp_path / "1.json").write_bytes(record_bytes(ended("hunter2")))
    assert ended(MASK) == read_record(locate(tmp_path / "1.json"), Ended)


def test_a_record_without_a_secret_is_what_it_says() -> None:
    """Two spaces of indent, in the order of the fields, and not in ASCII."""
    record = ended(MASK)
    assert record.model_dump_json(indent=2) + "\n" == record_bytes(record).decode()
    assert "ü" in record_bytes(record).decode()
    assert "version" == next(iter(json.loads(record_bytes(record))))
