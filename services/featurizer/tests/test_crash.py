"""The power fails at a numbered input/output step: no manifest, or one that verifies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from audioloom_featurizer import featurize
from audioloom_featurizer.settings import GcSettings, VerifySettings
from audioloom_manifest import Opened
from audioloom_storage import is_temporary
from audioloom_storage.testing import Crashed, CrashPlan, steps
from featurizer_work import features_of, header_only, write_wav

SAMPLED = 7


def work(source: Path, root: Path) -> Opened:
    return features_of(source, root, unit_recordings=2, error_budget="1")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two units: three recordings, one of them bad."""
    folder = tmp_path / "small"
    write_wav(folder / "a" / "x-1.wav", seed=1)
    write_wav(folder / "b" / "y-1.wav", seed=2)
    header_only(folder / "b" / "z-1.wav")
    return folder


def check_every(step_between: int, small: Path, tmp_path: Path) -> None:
    with steps(tmp_path / "count") as taken:
        whole = work(small, tmp_path / "root")
    total = taken.count
    assert total > 20
    for at in range(1, total + 1, step_between):
        root = tmp_path / f"root-{at}"
        with pytest.raises(Crashed), CrashPlan(tmp_path / f"counter-{at}", at).armed():
            work(small, root)
        for manifest in root.glob("*/*/manifest.json"):
            featurize.verify(VerifySettings(manifest=str(manifest)))
        again = work(small, root)
        assert whole.manifest.identity == again.manifest.identity, at
        featurize.verify(VerifySettings(manifest=str(again.location)))
        featurize.collect(GcSettings(root=str(root), delete=True, older_than="0s"))
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


def _data(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet")}
