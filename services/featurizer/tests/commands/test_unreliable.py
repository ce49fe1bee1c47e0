"""A storage that cannot be relied on: no manifest, or the one of an undisturbed run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.settings import VerifySettings
from audioloom_manifest.reader import read_manifest
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import NoSpace, Unavailable, UnknownOutcome, is_temporary
from audioloom_storage_testing import UnreliableStore
from featurizer_work import in_two_units, two_units

TOLD = {exit_code(kind("")) for kind in (Unavailable, NoSpace, UnknownOutcome)}
SEEDS = range(30)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return two_units(tmp_path / "small")


def committed(root: Path) -> dict[str, bytes]:
    """The manifests under a root, each checked with all that it names."""
    found = {}
    for path in root.glob("*/*/manifest.json"):
        verify(VerifySettings(manifest=str(path)))
        names = [entry.path for entry in read_manifest(str(path)).files()]
        assert [] == [name for name in names if is_temporary(name.rpartition("/")[2])]
        found[str(path)] = path.read_bytes()
    return found


def attempted(do: Callable[[], str]) -> tuple[Exception | None, str | None]:
    """What was raised, or else what came out."""
    try:
        return None, do()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
        return error, None


def check(seed: int, among: int, identity: str, small: Path, tmp_path: Path) -> bool:
    """Scan and run on it, then again on a sound one; whether the first try came through."""
    root = tmp_path / f"root-{seed}"
    store = UnreliableStore(tmp_path / f"store-{seed}", seed, among)
    with store.installed():
        told, found = attempted(lambda: in_two_units(small, root).manifest.identity)
    assert told is None or exit_code(told) in TOLD, f"{told!r}\n{store.log}"
    assert found in {None, identity}, store.log
    before = committed(root)
    assert identity == in_two_units(small, root).manifest.identity, store.log
    assert before.items() <= committed(root).items(), store.log
    return told is None


def test_a_run_comes_through_or_says_why_and_comes_through_then(
    small: Path, tmp_path: Path
) -> None:
    """Whatever fails, lies or stays silent: nothing wrong is committed, nothing right replaced."""
    with UnreliableStore(tmp_path / "count", 0, 0).installed() as counted:
        identity = in_two_units(small, tmp_path / "root").manifest.identity
    assert counted.requests > 50
    came_through = [check(seed, counted.requests, identity, small, tmp_path) for seed in SEEDS]
    assert not all(came_through)  # or the faults met nothing
