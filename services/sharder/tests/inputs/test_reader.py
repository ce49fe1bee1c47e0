"""Features files that are missing, cut or changed are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_sharder.inputs import reader
from sharder_features import feature_of, make_features, values_of, windows
from sharder_runs import features_file

ROWS = windows(120, each=2)


def test_a_missing_features_file_is_told(sharder: Callable, tmp_path: Path) -> None:
    """The manifest stands, its data does not."""
    features = make_features(tmp_path, [ROWS])
    features_file(features).unlink()
    ran = sharder("run", features.folder)
    assert 66 == ran.code
    assert features_file(features).name in ran.err


def test_a_cut_features_file_is_told(sharder: Callable, tmp_path: Path) -> None:
    """By its size, before it is opened."""
    features = make_features(tmp_path, [ROWS])
    path = features_file(features)
    path.write_bytes(path.read_bytes()[:-9])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert path.name in ran.err


def test_a_file_that_is_not_parquet_is_told(sharder: Callable, tmp_path: Path) -> None:
    """The command that checks all of them can be pasted, whatever the folder is called."""
    features = make_features(tmp_path / "my data", [ROWS])
    path = features_file(features)
    path.write_bytes(bytes(path.stat().st_size))
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert f"audioloom-featurizer verify '{features.folder}'" in ran.err


@pytest.mark.parametrize("held", ["memory", "disk"])
def test_a_rotten_features_file_is_told(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    """One flipped bit among the values is found by the checksum, and nothing is committed."""
    if held == "disk":
        monkeypatch.setattr(reader, "HELD_BYTES", 1000)
    features = make_features(tmp_path, [ROWS])
    path = features_file(features)
    data = bytearray(path.read_bytes())
    at = bytes(data).index(values_of(ROWS[0], feature_of()).tobytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "CRC-32C" in ran.err
    assert path.name in ran.err
    assert not list(tmp_path.glob("shards/*/manifest.json"))


def test_a_full_disk_is_told(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large features file needs the local disk; the error says what to do."""
    features = make_features(tmp_path, [ROWS])
    monkeypatch.setattr(reader, "HELD_BYTES", 1000)
    monkeypatch.setattr(reader, "temporary_file", lambda: Path("/dev/full").open("wb"))  # noqa: SIM115
    ran = sharder("run", features.folder)
    assert 75 == ran.code
    assert "the local disk has no room for a features file" in ran.err
    assert "TMPDIR" in ran.err
