from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.extraction import unit
from audioloom_featurizer.settings import VerifySettings
from audioloom_manifest.reader import Opened
from featurizer_work import features_of


def windows(opened: Opened) -> list[list[dict[str, Any]]]:
    """The rows of each features file."""
    files = (Path(opened.folder.path, entry.path) for entry in opened.files("features"))
    return [pq.read_table(file).to_pylist() for file in files]


def test_a_unit_of_long_recordings_writes_several_files(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is full after the recording that fills it, and all of them hold what one would."""
    whole = features_of(source, root, windows="all", unit_recordings=100)
    monkeypatch.setattr(unit, "MOST_FILE_BYTES", 1)
    parted = features_of(source, tmp_path / "other", windows="all", unit_recordings=100)
    (expected,), found = windows(whole), windows(parted)
    assert len({row["path"] for row in expected}) == len(found) > 1
    assert all(1 == len({row["path"] for row in file}) for file in found)
    rows = sorted((row for file in found for row in file), key=lambda row: row["path"])
    assert sorted(expected, key=lambda row: row["path"]) == rows
    assert whole.manifest.stats == parted.manifest.stats
    verify(VerifySettings(manifest=str(parted.location), against="librosa", sample=3))
