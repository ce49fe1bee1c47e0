"""`plan` says what a run would take, and `inspect` what it took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.commands.plan import plan
from audioloom_featurizer.settings import InspectSettings, PlanSettings
from audioloom_manifest.reader import read_manifest
from audioloom_runs import prediction
from featurizer_work import in_process, run, scan, write_wav


def planned(recordings: str, **more: Any) -> Any:
    """The costs that `plan` predicts."""
    given = {"unit_recordings": 3, "window_seconds": 1.0, **more}
    return plan(PlanSettings(recordings=recordings, **given)).data["cost"]


def test_more_cores_take_less_time(source: Path, root: Path) -> None:
    """And hold more of them; all quantities have a range around what is likely."""
    recordings = str(scan(source, root).text)
    one, two = (planned(recordings, master=f"local[{cores}]") for cores in (1, 2))
    assert two["seconds"]["work"] < one["seconds"]["work"]
    assert two["core_seconds"]["likely"] > one["core_seconds"]["likely"]
    for each in one.values():
        assert each["least"] <= each["likely"] <= each["most"]
    shown = str(plan(PlanSettings(recordings=recordings)).text)
    assert "core-hours" in shown
    assert ", by constants" in shown


def test_a_run_notes_what_it_took_and_informs_the_next(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of other recordings, as long as the feature is the same."""
    monkeypatch.setattr(prediction, "MOST_FACTOR", 1e6)  # without Spark, a run takes no time
    opened = read_manifest(str(run(str(scan(source, root).text)).text), "features")
    cost = opened.manifest.execution.cost
    assert cost["seconds"].actual
    assert sum(file.bytes for file in opened.files()) == cost["stored_bytes"].actual
    assert 0.5 < (cost["stored_bytes"].actual or 0) / cost["stored_bytes"].likely < 20
    for name in ("time", "core-hours", "memory", "stored"):
        lines = [*inspect(InspectSettings(manifest=str(opened.folder))).text]
        (line,) = [each for each in lines if each.strip().startswith(name)]
        assert ", took " in line
    write_wav(source / "yes" / "s9-take.wav")
    more = str(scan(source, root, name="more").text)
    assert 1 == planned(more)["seconds"]["runs"]
    assert 0 == planned(more, feature="log-mel")["seconds"]["runs"]
    assert 0 == planned(more, master="yarn")["seconds"]["runs"]


def test_a_resumed_run_knows_no_time(source: Path, root: Path) -> None:
    """Another attempt did a unit, and nobody knows how long that took."""
    recordings = str(scan(source, root).text)

    def half(units: Any, task: Any) -> Any:
        yield task(units[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(recordings, half)
    cost = read_manifest(str(run(recordings, in_process).text)).manifest.execution.cost
    assert cost["seconds"].actual is None
    assert cost["core_seconds"].actual is None
    assert cost["stored_bytes"].actual
