from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audioloom.site.index import compare_page
from audioloom.site.read import SiteRun, flattened, read_runs
from audioloom_manifest.reader import Opened
from audioloom_storage import Location
from hypothesis import given
from hypothesis import strategies as st
from small_root import SCORES, make_recordings, make_training

HOSTILE = '"><script>alert(1)</script>\u202e\x1b[31m'


def by_name(root: Location) -> dict[str, SiteRun]:
    return {run.name: run for run in read_runs(root)}


def test_a_damaged_manifest_is_a_row(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """So are one of another kind, one that cannot be read and one that is forged."""
    manifests = Path(root.path, "runs")
    for name, text in {"torn": "{", "deep": "[" * 99_999, "other": '{"kind": "x"}'}.items():
        (manifests / name).mkdir()
        (manifests / name / "manifest.json").write_text(text)
    (manifests / "alien").symlink_to(runs["shards"].folder.path)
    forged = Path(runs["second"].location.path)
    forged.write_text(forged.read_text().replace('"seed": 7', '"seed": 8'))
    found = by_name(root)
    bad = ("torn", "deep", "other", "alien", "second")
    assert dict.fromkeys(bad, "unreadable") == {name: found[name].state for name in bad}
    assert all(found[name].detail for name in bad)
    assert "committed" == found["first"].state


def test_a_lost_history_is_told(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """The run has a row, a page and its scores all the same."""
    (entry,) = runs["first"].files("history")
    Path(runs["first"].folder.path, entry.path).unlink()
    run = by_name(root)["first"]
    assert ("committed", (), SCORES) == (run.state, run.history, run.scores)
    assert "expected a file that the manifest names" in run.detail
    (entry,) = runs["second"].files("history")
    Path(runs["second"].folder.path, entry.path).write_text("{}")
    assert "It was changed after the commit" in by_name(root)["second"].detail


ODD_EPOCHS = [{"epoch": -1, "loss": 1.0}, {"epoch": 10**17, "loss": 1.0}]


@pytest.mark.parametrize("history", [None, 3, [3, {"epoch": "one"}, {"loss": 1.0}], ODD_EPOCHS])
def test_a_history_of_another_form_is_none(
    root: Location, runs: dict[str, Opened[Any]], history: object
) -> None:
    """It is data from outside."""
    make_training(root, runs["shards"], "odd", history=history)
    assert [] == [*by_name(root)["odd"].history]


def test_what_is_no_number_is_left_out(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Of a metric that is not finite, of an integer that is no float, and of a text."""
    epoch = {"epoch": 1, "loss": 1e400, "steps": 10**400, "note": "x", "accuracy": 0.5}
    make_training(root, runs["shards"], "odd", history=[epoch])
    assert [{"epoch": 1, "accuracy": 0.5}] == by_name(root)["odd"].history


def test_names_from_outside_become_harmless_files(root: Location) -> None:
    """The page of a run stays in its folder, and no two have one page."""
    names = [HOSTILE.replace("/", ""), "..x", ".hidden", "a b", "%2e", "x" * 200, "plain-1.2_z"]
    names.append(os.fsdecode(b"not-utf-8-\xff"))
    for name in names:
        Path(root.path, "runs", name).mkdir(parents=True)
    found = read_runs(root)
    assert len(names) == len({run.page for run in found})
    for run in found:
        folder, _, file = run.page.partition("/")
        assert "runs" == folder
        assert set(file) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
        assert not file.startswith(".")
        assert len(file) < 120
    assert "runs/plain-1.2_z.html" in {run.page for run in found}


def test_all_kinds_are_read_newest_first(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """With inputs, facts, scores and where TensorBoard's events lie."""
    found = by_name(root)
    assert {"voices", "mfcc", "demo", "first", "second"} == found.keys()
    dates = [run.changed for run in read_runs(root)]
    assert sorted(dates, reverse=True) == dates
    first, shards = found["first"], found["demo"]
    assert [(shards.location, shards.identity)] == [(i.location, i.identity) for i in first.inputs]
    assert ("model.py:build", "units 8") == (
        first.facts["Recipe"]["model.function"],
        first.facts["Recipe"]["model.arguments"],
    )
    assert ("val", "accuracy", 0.75) == first.headline
    assert f"{first.location}/logs/tensorboard" == first.tensorboard
    assert first.report.startswith("file:///")
    holds = {name: run.holds[0] for name, run in found.items()}
    assert "2 recordings" == holds["voices"]
    assert ("1 windows, 1 refused", "5 records") == (holds["mfcc"], holds["demo"])


def test_features_that_cannot_be_read_are_told(
    root: Location, runs: dict[str, Opened[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Because a file is damaged or gone, or because pyarrow is not installed."""
    (entry,) = runs["features"].files("features")
    path = Path(runs["features"].folder.path, entry.path)
    path.write_bytes(b"x" * entry.bytes)
    assert "could not be read" in str(by_name(root)["mfcc"].sections)
    path.unlink()
    assert "could not be read" in str(by_name(root)["mfcc"].sections)
    monkeypatch.setitem(sys.modules, "audioloom_manifest.feature_reader", None)
    assert "Install audioloom[tables]" in str(by_name(root)["mfcc"].sections)


def test_curves_have_numbers_of_json_alone(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """The largest number would be rounded to infinity, which a browser refuses."""
    history = [{"epoch": n, "loss": loss} for n, loss in ((1, sys.float_info.max), (2, 1.5))]
    make_training(root, runs["shards"], "huge", history=history)
    page = compare_page([by_name(root)["huge"]])
    assert "Infinity" not in page
    assert '"loss":[[2,1.5]]' in page.replace(" ", "")


def test_a_secret_is_masked(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Wherever a run has recorded it."""
    make_training(root, runs["shards"], "leaky", settings={"model": "--password=hunter2"})
    make_recordings(root, "leaky", pattern="token=hunter2")
    assert "hunter2" not in repr(read_runs(root))


def test_a_run_at_work_has_the_curves_of_its_progress(root: Location) -> None:
    """And one that failed says why."""
    now = datetime.now(UTC).isoformat()
    for name, last in {
        "working": {"event": "step"},
        "lost": {"event": "failed", "text": "NaN"},
    }.items():
        folder = Path(root.path, "runs", name, "progress")
        folder.mkdir(parents=True)
        epoch = {"event": "epoch", "epoch": 1, "loss": 2.0, "step": 9, "rank": 0}
        lines = [{"time": now, **line} for line in (epoch, last)]
        (folder / "0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = by_name(root)
    assert ("running", [{"loss": 2.0, "epoch": 1}]) == (
        found["working"].state,
        found["working"].history,
    )
    assert ("failed", "NaN") == (found["lost"].state, found["lost"].detail)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_becomes_bounded_text(value: Any) -> None:
    """Printable, and of limited length."""
    for name, text in flattened({"a": value}):
        assert name.isprintable()
        assert text.isprintable()
        assert len(text) <= 300
