"""The power fails at a numbered input/output step: no manifest, or one that verifies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from audioloom_featurizer.commands.gc import gc
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.settings import GcSettings, VerifySettings
from audioloom_manifest.reader import read_manifest
from audioloom_stage.units import Duration
from audioloom_storage import is_temporary
from audioloom_storage_testing import Crashed, CrashPlan, steps
from featurizer_work import in_two_units, run, scan, two_units, write_wav

SAMPLED = 7


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return two_units(tmp_path / "small")


def check_every(step_between: int, small: Path, tmp_path: Path) -> None:
    with steps(tmp_path / "count") as taken:
        whole = in_two_units(small, tmp_path / "root")
    total = taken.count
    assert total > 20
    for at in range(1, total + 1, step_between):
        root = tmp_path / f"root-{at}"
        with pytest.raises(Crashed), CrashPlan(tmp_path / f"counter-{at}", at).armed():
            in_two_units(small, root)
        for manifest in root.glob("*/*/manifest.json"):
            verify(VerifySettings(manifest=str(manifest)))
        again = in_two_units(small, root)
        assert whole.manifest.identity == again.manifest.identity, at
        verify(VerifySettings(manifest=str(again.location)))
        gc(GcSettings(root=str(root), delete=True, older_than=Duration(0)))
        assert not [path for path in root.rglob("*") if is_temporary(path.name)], at
        assert _data(tmp_path / "root") == _data(root), at
        shutil.rmtree(root)


def test_sampled_steps(small: Path, tmp_path: Path) -> None:
    """Every seventh step, in this process."""
    check_every(SAMPLED, small, tmp_path)


@pytest.mark.slow
def test_every_step(small: Path, tmp_path: Path) -> None:
    """All of them."""
    check_every(1, small, tmp_path)


def test_what_another_recipe_left_under_the_same_name_is_not_taken_up(tmp_path: Path) -> None:
    """A run that died just before its commit, then the same name with other settings."""
    source, root = tmp_path / "small", tmp_path / "root"
    write_wav(source / "a" / "x-1.wav", seconds=2.5, seed=1)
    recordings = str(scan(source, root).text)
    with steps(tmp_path / "count") as taken:
        first = read_manifest(str(run(recordings, name="whole", windows="first").text), "features")
    plan = CrashPlan(tmp_path / "counter", taken.count - 2)
    with pytest.raises(Crashed), plan.armed():
        run(recordings, name="calls", windows="first")
    found = read_manifest(str(run(recordings, name="calls", windows="all").text), "features")
    assert 1 == first.manifest.stats.windows
    assert 3 == found.manifest.stats.windows


def _data(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet")}
