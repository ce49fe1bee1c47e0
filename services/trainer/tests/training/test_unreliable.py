"""A storage that cannot be relied on: no manifest, or the one of an undisturbed run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from audioloom_manifest.file_list import check_files
from audioloom_manifest.reader import read_manifest
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import NoSpace, Unavailable, UnknownOutcome, is_temporary
from audioloom_storage_testing import UnreliableStore
from shard_maker import make_shards
from trainer_workers import NETWORK, Ended, ForkServer

TOLD = {exit_code(kind("")) for kind in (Unavailable, NoSpace, UnknownOutcome)}
SEEDS = range(2)


class Unreliable:
    """A run of five steps and three checkpoints, of which one is forgotten."""

    def __init__(self, forkserver: ForkServer, folder: Path) -> None:
        self._forkserver, self._folder = forkserver, folder
        made = make_shards(folder / "root", records={"train": 9}, lanes=3)
        self._words = ("run", made.folder, "--model", NETWORK, "--name", "run", "--epochs", 1)
        self._words += (
            "--batch-size",
            2,
            "--checkpoint-steps",
            2,
            "--keep-checkpoints",
            2,
            "--storage-timeout",
            1,
        )
        self._run_folder = folder / "root" / "runs" / "run"
        self._manifest = self._run_folder / "manifest.json"
        counted = UnreliableStore(folder / "count", 0, 0)
        assert 0 == self._run(counted).code
        self.requests = counted.requests
        self._identity = self._identity_now()
        shutil.rmtree(self._run_folder)

    def _run(self, store: UnreliableStore) -> Ended:
        # What is written does not depend on the time, or the requests could not be counted.
        return self._forkserver.run(*self._words, environment=store.environment(), timeless=True)

    def _identity_now(self) -> str:
        opened = read_manifest(str(self._run_folder), expect="training-run")
        files = opened.files()
        assert [] == list(check_files(opened.folder, files))
        assert [] == [each for each in files if is_temporary(each.path.rpartition("/")[2])]
        return opened.manifest.identity

    def check(self, seed: int) -> bool:
        """Run on it, then again on a sound one; whether the first try came through."""
        store = UnreliableStore(self._folder / f"store-{seed}", seed, self.requests)
        ended = self._run(store)
        assert ended.code in {0, *TOLD}, f"{ended.err}\n{store.log}"
        before = self._manifest.read_bytes() if self._manifest.exists() else None
        assert ended.code != 0 or before is not None, store.log
        again = self._forkserver.run(*self._words)
        assert 0 == again.code, f"{again.err}\n{store.log}"
        assert self._identity == self._identity_now(), store.log
        assert before in {None, self._manifest.read_bytes()}, store.log
        shutil.rmtree(self._run_folder)
        return ended.code == 0


@pytest.fixture(scope="module")
def unreliable(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Unreliable:
    return Unreliable(forkserver, tmp_path_factory.mktemp("unreliable"))


def test_a_run_comes_through_or_says_why_and_comes_through_then(unreliable: Unreliable) -> None:
    """Whatever fails, lies or stays silent: nothing wrong is committed, nothing right replaced."""
    assert unreliable.requests > 60
    came_through = [unreliable.check(seed) for seed in SEEDS]
    assert not all(came_through)  # or the faults met nothing


@pytest.mark.slow
def test_a_hundred_more(unreliable: Unreliable) -> None:
    """The long form."""
    for seed in range(len(SEEDS), 100):
        unreliable.check(seed)
