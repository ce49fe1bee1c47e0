"""The driver of a run of many units, with tasks that only pretend: its memory, what it sends."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.capacity import DRIVER_UNIT_BYTES
from audioloom_featurizer.commands import run as run_command
from audioloom_featurizer.extraction.partition import Unit, receipt_name
from audioloom_manifest import reader
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.receipts import Receipt
from audioloom_runs import cost
from featurizer_work import features_of, in_process, run, scan

LABELS = {f"label {number}": 1000 + number for number in range(8)}


def pretend(units: Sequence[Unit], task: partial[Receipt]) -> Iterator[Receipt]:
    """Answer for every unit as if it had written one features file."""
    basis = task.args[0].basis
    for unit in units:
        file = FileEntry(
            path=f"features/features-{unit.id}-0123456789ab.parquet",
            bytes=1 << 28,
            sha256="0123456789abcdef" * 4,
            role="features",
            records=5000,
        )
        counts: dict[str, Any] = {
            **dict.fromkeys(("extracted", "windows"), unit.recordings),
            **dict.fromkeys(("refused", "flagged"), 0),
            "audio_seconds": 10.5,
            "labels": dict.fromkeys(LABELS, unit.recordings),
            "refusals": {},
            "examples": {},
        }
        name = receipt_name(unit, basis)
        yield Receipt(unit=name, attempt="a" * 32, files=(file,), counts=counts)


def peak(tmp_path: Path, units: int) -> int:
    """The most memory that the driver of so many units held beyond what it had."""
    source = tmp_path / f"source-{units}"
    source.mkdir()
    for number in range(units):
        (source / f"{number:06}.wav").touch()
    recordings = str(scan(source, tmp_path / "root", pattern=None).text)
    tracemalloc.start()
    run(recordings, pretend, unit_recordings=1)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_is_as_predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a unit more: not more, and not far less."""
    monkeypatch.setattr(run_command, "check_sample", lambda *_: None)
    for module in (cost, reader):  # memory of this size, to read a manifest
        monkeypatch.setattr(module, "MOST_MANIFEST_BYTES", 1 << 20)
    peak(tmp_path, 20)  # what is imported on the way
    of_unit = (peak(tmp_path, 2200) - peak(tmp_path, 200)) / 2000
    assert DRIVER_UNIT_BYTES / 4 < of_unit <= DRIVER_UNIT_BYTES


def test_the_task_does_not_grow_with_the_run(source: Path, tmp_path: Path) -> None:
    """What Spark sends to every unit is of one size, however many units there are."""
    sizes: list[int] = []

    def measured(units: Sequence[Unit], task: Any) -> Iterator[Receipt]:
        sizes.append(len(pickle.dumps(task)))
        return in_process(units, task)

    for number, in_unit in enumerate((7, 1)):
        place = tmp_path / str(number)
        features_of(source, place, unit_recordings=in_unit, runner=measured)
    assert sizes[0] == sizes[1] < 1 << 20
