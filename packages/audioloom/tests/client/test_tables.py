from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom.client.runs import open_run
from audioloom.client.tables import read_table
from audioloom_manifest.errors import WrongChecksum
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location
from small_root import make_features


def test_an_unknown_column_is_told(runs: dict[str, Opened[Any]]) -> None:
    """With those that there are."""
    run: Any = open_run(runs["recordings"].folder)
    with pytest.raises(BadData, match=r"expected columns among path, .*found lable"):
        run.frame("lable")


def test_a_file_that_is_no_parquet_is_told(runs: dict[str, Opened[Any]]) -> None:
    """Although it is the file that the manifest names."""
    with pytest.raises(BadData, match="expected a Parquet file"):
        read_table(runs["first"], "report", None)


def test_a_role_without_files_is_told(runs: dict[str, Opened[Any]]) -> None:
    """No empty table."""
    with pytest.raises(BadData, match="a file of role ledger"):
        read_table(runs["recordings"], "ledger", None)


def test_a_changed_file_is_refused(runs: dict[str, Opened[Any]]) -> None:
    """By its digest, though it may still be Parquet."""
    run: Any = open_run(runs["recordings"].folder)
    file = Path(run.location.path, run.files("inventory")[0].path)
    file.write_bytes(file.read_bytes().replace(b"calm", b"clam"))
    with pytest.raises(WrongChecksum):
        run.frame()


def test_recordings_are_a_table(runs: dict[str, Opened[Any]]) -> None:
    """A row each, all columns or those that are named."""
    run: Any = open_run(runs["recordings"].folder)
    assert ["calm/0.wav", "glad/1.wav"] == run.frame()["path"].to_pylist()
    assert ["label", "group"] == run.frame("label", "group").column_names


def test_windows_come_without_the_feature_unless_it_is_named(runs: dict[str, Opened[Any]]) -> None:
    """It is large."""
    run: Any = open_run(runs["features"].folder)
    assert "mfcc" not in run.frame().column_names
    (value,) = run.frame("mfcc")["mfcc"].to_pylist()
    assert [0, 1, 2, 3, 4, 5] == np.frombuffer(value, "<f4").tolist()


def test_refused_recordings_are_a_table(runs: dict[str, Opened[Any]]) -> None:
    """Each with its class and message."""
    run: Any = open_run(runs["features"].folder)
    (row,) = run.ledger().to_pylist()
    assert ("glad/1.wav", "empty", "no samples") == (row["path"], row["class"], row["message"])


def test_no_refused_recordings_are_a_table_without_rows(
    root: Location, runs: dict[str, Opened[Any]]
) -> None:
    """With the columns that a ledger has."""
    run: Any = open_run(make_features(root, runs["recordings"], "whole", refusals=0).folder)
    assert not run.files("ledger")
    refused: Any = open_run(runs["features"].folder)
    assert run.ledger().num_rows == 0
    assert run.ledger().schema.names == refused.ledger().schema.names
