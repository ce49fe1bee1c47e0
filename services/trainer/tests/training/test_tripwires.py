"""What must never happen, and is looked for while workers train."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from audioloom_mini_cluster.faults import until
from audioloom_runs.progress import read_progress
from audioloom_storage import locate
from shard_maker import make_shards
from trainer_program import ZOO
from trainer_workers import NETWORK, ForkServer, cluster

TRY_AGAIN = 75


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_weight_that_drifts_on_one_worker_is_found(
    forkserver: ForkServer, tmp_path: Path, rank: int
) -> None:
    """By all of them, at the next comparison; no checkpoint of it is taken."""
    made = make_shards(tmp_path, records={"train": 61, "val": 23}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 2)
    faults = [{}, {}]
    faults[rank] = {"drift_at_step": 3}
    ended = forkserver.gang(
        2, *words, "--compare-steps", 5, "--name", f"drift-{rank}", faults=faults
    )
    assert [TRY_AGAIN, TRY_AGAIN] == [each.code for each in ended]
    for each in ended:
        assert "do not agree on the weights at step 5" in each.err
    assert not (tmp_path / "runs" / f"drift-{rank}" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("network", "code", "text"),
    [
        pytest.param("not_said_to_be_logits", 78, "step 1 of epoch 1", marks=pytest.mark.slow),
        ("explodes", 65, "--allow-exploding-loss"),
    ],
)
def test_a_training_that_means_nothing_is_ended_by_all_workers(
    forkserver: ForkServer, tmp_path: Path, network: str, code: int, text: str
) -> None:
    """Alike, so that none waits for another; what one replica sees counts for all."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    model = f"{ZOO}:{network}"
    words = ("run", made.folder, "--model", model, "--batch-size", 8, "--epochs", 1)
    for ended in forkserver.gang(2, *words, "--name", "nothing"):
        assert code == ended.code, ended.err
        assert text in ended.err
    assert not (tmp_path / "runs" / "nothing" / "manifest.json").exists()


@pytest.mark.parametrize(
    "what",
    [
        "run",
        pytest.param("attempt", marks=pytest.mark.slow),
        pytest.param("generation", marks=pytest.mark.slow),
    ],
)
def test_workers_of_different_gangs_do_not_train_together(
    forkserver: ForkServer, tmp_path: Path, what: str
) -> None:
    """One that was left over, or reached by mistake, is found before the first step."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 1)
    ours = {"run": f"{tmp_path}/runs/ours", "attempt": "2", "generation": "1"}
    theirs = ours | {what: {"run": f"{tmp_path}/other/runs/ours"}.get(what, "7")}
    names = {"run": "AUDIOLOOM_RUN_FOLDER"}
    workers = [
        forkserver.start(
            *words,
            environment={"TF_CONFIG": configuration}
            | {names.get(key, f"AUDIOLOOM_RUN_{key.upper()}"): told[key] for key in told},
        )
        for configuration, told in zip(cluster(2), (ours, theirs), strict=True)
    ]
    for ended in [worker.wait() for worker in workers]:
        assert TRY_AGAIN == ended.code, ended.err
        assert f"the workers do not agree on the {what} at the start" in ended.err


@pytest.mark.parametrize(
    ("rank", "fate"),
    [
        pytest.param(0, signal.SIGKILL, id="0-killed"),
        pytest.param(1, signal.SIGKILL, id="1-killed", marks=pytest.mark.slow),
        pytest.param(0, signal.SIGSTOP, id="0-frozen", marks=pytest.mark.slow),
        pytest.param(1, signal.SIGSTOP, id="1-frozen", marks=pytest.mark.slow),
    ],
)
def test_a_lost_peer_is_named(forkserver: ForkServer, tmp_path: Path, rank: int, fate: int) -> None:
    """In the error and in the record; a network that is gone looks like a frozen peer from here."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 100_000)
    files = [tmp_path / "runs" / "lost" / "progress" / f"{each}.jsonl" for each in (0, 1)]
    configurations = cluster(2)
    workers = [
        forkserver.start(*words, "--name", "lost", environment={"TF_CONFIG": each})
        for each in configurations
    ]
    lost, other = workers[rank], workers[1 - rank]
    until(lambda: all(map(_trains, files)), "both train")
    os.kill(lost.pid, fate)
    began = time.monotonic()
    ended = other.wait()
    print(f"ended after {time.monotonic() - began:.1f} s")  # noqa: T201  (shown with -rP)
    os.kill(lost.pid, signal.SIGKILL)
    lost.wait()
    address = json.loads(configurations[0])["cluster"]["worker"][rank]
    assert TRY_AGAIN == ended.code, ended.err
    assert f"worker {rank} ({address})" in ended.err
    (failed,) = (line for line in _lines(files[1 - rank]) if line["event"] == "failed")
    assert ("PeerLost", [address], [rank]) == tuple(
        failed[name] for name in ("error", "peers", "peer_ranks")
    )


def _trains(file: Path) -> bool:
    return any(line["event"] in ("step", "epoch") for line in _lines(file))


def _lines(file: Path) -> list[dict[str, Any]]:
    return read_progress(locate(file))
