"""What `plan --capacity` predicts is what a run takes, call by call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.capacity import run_calls, scan_calls, verify_calls
from audioloom_featurizer.commands.plan import plan
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.settings import PlanSettings, VerifySettings
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_storage_testing import CountingStore
from featurizer_work import run, scan, write_wav

SIZES = (20, 40, 80)
IN_UNIT, IN_FOLDER = 5, 10


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Counter[Any]]]:
    """The calls of each command for sets of several sizes."""
    base = tmp_path_factory.mktemp("capacity")
    found: dict[str, list[Counter[Any]]] = {"scan": [], "run": [], "verify": []}

    def count(command: str, size: int) -> CountingStore:
        return CountingStore(base / f"{command}-{size}")

    for size in SIZES:
        source, root = base / f"source-{size}", base / f"root-{size}"
        for number in range(size):
            write_wav(source / f"s{number // IN_FOLDER}" / f"{number}-take.wav", seed=number)
        with count("scan", size).installed() as store:
            recordings = str(scan(source, root).text)
        found["scan"].append(store.calls)
        with count("run", size).installed() as store:
            features = str(run(recordings, unit_recordings=IN_UNIT).text)
        found["run"].append(store.calls)
        with count("verify", size).installed() as store:
            verify(VerifySettings(manifest=features))
        found["verify"].append(store.calls)
    return found


@pytest.mark.parametrize("command", ["scan", "run", "verify"])
def test_calls_grow_as_predicted(command: str, counted: dict[str, list[Counter[Any]]]) -> None:
    """For each recording, unit and folder more as many as the constants say, kind by kind."""
    predicted = []
    for size in SIZES:
        units = size // IN_UNIT
        known = {
            "scan": scan_calls(size, size // IN_FOLDER),
            "run": run_calls(size, units, units, units),
            "verify": verify_calls(units, units),
        }
        predicted.append(known[command])
    found = counted[command]
    for number in (1, 2):
        for kind in found[number].keys() | predicted[number].keys():
            growth = found[number][kind] - found[0][kind]
            assert predicted[number][kind] - predicted[0][kind] == growth, kind


def test_the_rest_does_not_grow(counted: dict[str, list[Counter[Any]]]) -> None:
    """Manifests, tables and the sample for librosa cost some calls a run."""
    for size, found in zip(SIZES, counted["run"], strict=True):
        units = size // IN_UNIT
        assert found.total() - run_calls(size, units, units, units).total() < 100


def opened(source: Path, root: Path) -> Opened:
    return read_manifest(str(scan(source, root).text), "recordings")


def lines(recordings: Opened, **more: object) -> dict[str, Any]:
    """The lines of `plan --capacity` by name."""
    found = plan(PlanSettings(recordings=str(recordings.location), capacity=True, **more))
    assert found.data["verdict"] in {"green", "amber", "red"}
    return {one["name"]: one for one in found.data["capacity"]}  # type: ignore[union-attr,index,call-overload]


def test_no_recording_is_needed(source: Path, root: Path, tmp_path: Path) -> None:
    """The inventory alone is read; formats are told apart by suffix."""
    (source / "yes" / "other.FLAC").write_bytes(b"fLaC")
    recordings = opened(source, root)
    source.rename(tmp_path / "elsewhere")
    found = lines(recordings, unit_recordings=3)
    assert {8: "recordings", 3: "units"} == {
        round(found[name]["amount"]): name for name in ("recordings", "units")
    }
    assert {"core-hours, .wav", "core-hours, .flac"} <= found.keys()
    assert {"green"} == {one["verdict"] for one in found.values()}


def test_what_is_too_much_is_red_and_says_what_to_change(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the flag that helps, in the table too."""
    recordings = opened(source, root)
    monkeypatch.setattr("audioloom_featurizer.capacity.ENTRIES_OF_FOLDER", (2, 6))
    assert "red" == lines(recordings, unit_recordings=1)["largest folder"]["verdict"]
    given = PlanSettings(recordings=str(recordings.location), capacity=True, unit_recordings=2)
    shown = str(plan(given).text)
    assert "amber" in shown
    assert "--unit-recordings" in shown
