"""Storage that goes away in the middle of a training: it is waited for, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest import publication
from audioloom_manifest.reader import read_manifest
from audioloom_mini_cluster.client import Running, running
from audioloom_mini_cluster.faults import ended, run, start, until
from audioloom_runs.progress import read_progress
from audioloom_storage import (
    Location,
    NotFound,
    StorageError,
    Unavailable,
    UnknownOutcome,
    create,
    locate,
    walk,
)
from audioloom_trainer.evaluation import split_scores
from audioloom_trainer.runs import artifacts, summaries
from audioloom_trainer.runtime.retry import pauses, with_retries
from shard_maker import make_shards
from trainer_program import SMALL, RetryFor, Trained, Trainer
from trainer_workers import NETWORK, ForkServer, run_of

TRY_AGAIN = 75
AWAY_SECONDS = 60
PROGRAM = Path(sys.executable).with_name("audioloom-trainer")


class Away:
    """Fails so many times."""

    def __init__(self, error: StorageError, failures: int) -> None:
        self.error, self.failures, self.asked = error, failures, 0

    def __call__(self) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise self.error
        return "there"


def test_retries_end(retry_for: RetryFor) -> None:
    """With what storage said; with a limit of 0 it is asked once."""
    for seconds, tries in ((0.0, 1), (0.04, 5)):
        retry_for(seconds, first_pause=0.01)
        away = Away(Unavailable("gone"), 10**9)
        with pytest.raises(Unavailable, match="gone"):
            with_retries(away)
        assert 1 <= away.asked <= tries


@pytest.mark.parametrize("error", [Unavailable("gone"), UnknownOutcome("gone")])
def test_what_comes_back_in_time_is_used(retry_for: RetryFor, error: StorageError) -> None:
    """Also where nobody can tell whether it was done."""
    retry_for(60.0, first_pause=0.001)
    assert "there" == with_retries(Away(error, 3))


def test_what_would_not_help_is_not_repeated(retry_for: RetryFor) -> None:
    """A file that is missing stays so."""
    retry_for(60.0)
    away = Away(NotFound("gone"), 1)
    with pytest.raises(NotFound):
        with_retries(away)
    assert 1 == away.asked


def test_pauses_grow_and_fit_into_the_time(retry_for: RetryFor) -> None:
    """Half a second first, a quarter of a minute at most."""
    retry_for(0.4)
    assert [] == list(pauses())
    retry_for(1e6)
    found = pauses()
    assert [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0] == [next(found) for _ in range(7)]


def test_storage_that_goes_away_at_the_end_is_waited_for(
    trainer: Trainer,
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
) -> None:
    """For each file, for the shards that are looked into again, and for the manifest itself."""
    retry_for(60.0, first_pause=0.001)
    failed = set()

    def fail_once(module: Any, name: str, error: StorageError, *, landed: bool = False) -> None:
        real = getattr(module, name)

        def failing(where: Location, *rest: Any, **options: Any) -> Any:
            if (module, where) in failed:
                return real(where, *rest, **options)
            failed.add((module, where))
            if landed:
                real(where, *rest, **options)
            raise error

        monkeypatch.setattr(module, name, failing)

    fail_once(artifacts, "publish", Unavailable("gone"))
    fail_once(publication, "publish", UnknownOutcome("gone"), landed=True)
    fail_once(split_scores, "read_bytes", Unavailable("gone"))
    fail_once(summaries, "file_sha256", Unavailable("gone"))
    shards = trained.root / "shards" / "demo"
    ran = trainer("run", shards, *SMALL, "--root", tmp_path, "--quiet")
    assert 0 == ran.code, ran.err
    assert {artifacts, publication, split_scores, summaries} == {module for module, _ in failed}
    again = read_manifest(ran.out.strip(), expect="training-run")
    assert trained.run.manifest.identity == again.manifest.identity
    failed.clear()
    scored = trainer("evaluate", again.folder)
    assert 0 == scored.code, scored.err
    assert {split_scores} == {module for module, _ in failed}


@pytest.mark.slow
def test_who_is_told_to_end_while_storage_is_away_does(
    forkserver: ForkServer, tmp_path: Path
) -> None:
    """Within the seconds that were promised, whatever patience was asked for."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 1000)
    words += ("--checkpoint-steps", 4, "--storage-timeout", 3600)
    faults = {"storage_gone_at_step": 20, "told_at_step": 22}
    worker = forkserver.start(*words, "--name", "told", **faults)
    log = worker.folder / "err"
    until(lambda: log.exists() and "SIGTERM received" in log.read_text(), "the signal")
    began = time.monotonic()
    told = worker.wait()
    print(f"ended after {time.monotonic() - began:.1f} s")  # noqa: T201  (shown with -rP)
    assert TRY_AGAIN == told.code, told.err
    assert "ended without a checkpoint of the last steps" in told.err


@pytest.mark.slow
def test_workers_wait_for_one_that_waits_for_storage(
    forkserver: ForkServer, tmp_path: Path
) -> None:
    """For longer than it takes to find that a peer is lost; it is not."""
    made = make_shards(tmp_path, records={"train": 61}, lanes=6)
    words = ("run", made.folder, "--model", NETWORK, "--batch-size", 8, "--epochs", 4)
    words += ("--checkpoint-steps", 4)
    away = {"storage_gone_at_step": 12, "storage_back_after": 25}
    for name, faults in (("calm", {}), ("hard", away)):
        ended = forkserver.gang(2, *words, "--name", name, faults=[faults, {}])
        assert [0, 0] == [each.code for each in ended], ended[0].err
        assert (name == "hard") == ("storage does not answer, retrying" in ended[0].err)
    calm, hard = (run_of(tmp_path, name) for name in ("calm", "hard"))
    assert calm.manifest.identity == hard.manifest.identity


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with running("--hdfs-only") as cluster, cluster.exported():
        yield cluster


@pytest.fixture(scope="module")
def words(cluster: Running, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """A training of some seconds that reads its shards anew in each epoch, and saves often."""
    made = make_shards(tmp_path_factory.mktemp("local"), records={"train": 400, "val": 40}, lanes=4)
    folder = locate(cluster.hdfs) / "loom" / "shards" / "demo"
    for entry in walk(made.folder):
        with create(folder / entry.location.relative_to(made.folder)) as sink:
            sink.write(Path(entry.location.path).read_bytes())
    room = 6 * max(each.bytes for each in made.files())
    return (
        *("run", folder, "--model", NETWORK, "--epochs", 12, "--batch-size", 16),
        *("--checkpoint-steps", 2, "--shuffle-window", 1, "--cache-bytes", room),
    )


def begun(cluster: Running, words: tuple[object, ...], name: str) -> subprocess.Popen[str]:
    """A training in its middle."""
    process = start(cluster, PROGRAM, *words, "--name", name)
    folder = locate(cluster.hdfs) / "loom" / "runs" / name
    until(lambda: process.poll() is not None or _epochs(folder) >= 2, "epochs")
    assert process.poll() is None, process.communicate()
    return process


def _epochs(folder: Location) -> int:
    with suppress(StorageError):
        lines = read_progress(folder / "progress/0.jsonl")
        return sum(line["event"] == "epoch" for line in lines)
    return 0


@pytest.mark.slow
def test_a_namenode_that_is_away_for_a_minute(cluster: Running, words: tuple[object, ...]) -> None:
    """The run waits and goes on to the weights of one that was not disturbed."""
    calm = run(cluster, PROGRAM, *words, "--name", "calm")
    process = begun(cluster, words, "hard")
    with cluster.without("namenode"):
        time.sleep(AWAY_SECONDS)
        assert process.poll() is None, process.communicate()
    out, told = ended(process, 0)
    print(told)  # noqa: T201  (shown with -rP)
    assert "storage does not answer, retrying" in told
    identities = {read_manifest(each, "training-run").manifest.identity for each in (calm, out)}
    assert 1 == len(identities)


@pytest.mark.slow
def test_who_is_told_to_end_while_the_namenode_is_away(
    cluster: Running, words: tuple[object, ...]
) -> None:
    """It ends in time, to be started again; and then the run comes to its end."""
    process = begun(cluster, words, "told")
    with cluster.without("namenode"):
        time.sleep(5)  # so that it waits for a checkpoint
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        ended(process, TRY_AGAIN)
        print(f"ended after {time.monotonic() - began:.1f} s")  # noqa: T201  (shown with -rP)
    run(cluster, PROGRAM, *words, "--name", "told")
