"""A storage that cannot be relied on: no manifest, or the one of an undisturbed run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import NoSpace, Unavailable, UnknownOutcome, is_temporary
from audioloom_storage_testing import UnreliableStore
from sharder_features import make_features, windows

TOLD = {exit_code(kind("")) for kind in (Unavailable, NoSpace, UnknownOutcome)}
WORDS = ("--lanes", "2", "--name", "run")
SEEDS = range(20)


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Two features files of a few windows."""
    rows = windows(40, groups=40)
    return Path(make_features(tmp_path / "root", [rows[:25], rows[25:]]).folder.path)


def identity_of(manifest: Path) -> str:
    opened = read_manifest(str(manifest), "shards")
    names = [entry.path.rpartition("/")[2] for entry in opened.files()]
    assert [] == [name for name in names if is_temporary(name)]
    return opened.manifest.identity


def check(seed: int, among: int, identity: str, sharder: Callable, features: Path) -> bool:
    """Run on it, then again on a sound one; whether the first try came through."""
    root = features.parent.parent
    manifest = root / "shards" / "run" / "manifest.json"
    store = UnreliableStore(root.parent / f"store-{seed}", seed, among)
    with store.installed():
        ran = sharder("run", features, *WORDS)
    assert ran.code in {0, *TOLD}, f"{ran.err}\n{store.log}"
    before = manifest.read_bytes() if manifest.exists() else None
    assert 0 != ran.code or before is not None, store.log
    again = sharder("run", features, *WORDS)
    assert 0 == again.code, f"{again.err}\n{store.log}"
    assert identity == identity_of(manifest), store.log
    assert before in {None, manifest.read_bytes()}, store.log
    assert 0 == sharder("verify", manifest).code, store.log
    shutil.rmtree(root / "shards")
    return ran.code == 0


def test_a_run_comes_through_or_says_why_and_comes_through_then(
    sharder: Callable, features: Path, tmp_path: Path
) -> None:
    """Whatever fails, lies or stays silent: nothing wrong is committed, nothing right replaced."""
    with UnreliableStore(tmp_path / "count", 0, 0).installed() as counted:
        assert 0 == sharder("run", features, *WORDS).code
    assert counted.requests > 100
    identity = identity_of(tmp_path / "root" / "shards" / "run" / "manifest.json")
    shutil.rmtree(tmp_path / "root" / "shards")
    came_through = [check(seed, counted.requests, identity, sharder, features) for seed in SEEDS]
    assert {False, True} == set(came_through)
