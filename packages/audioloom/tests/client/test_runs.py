from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from audioloom.client.runs import open_run
from audioloom_manifest.errors import MissingFile, WrongChecksum
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location
from small_root import HISTORY, SCORES, make_training


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("features", "dataset", "a run of kind features has no dataset: dataset is of Shards"),
        ("first", "frame", "frame is of Recordings and Features"),
        ("shards", "scores", "a run of kind shards has no scores: scores is of Training"),
        ("shards", "nonsense", "a run of kind shards has no nonsense$"),
    ],
)
def test_what_a_kind_lacks_is_told(
    runs: dict[str, Opened[Any]], name: str, asked: str, told: str
) -> None:
    """With the kinds that have it."""
    with pytest.raises(AttributeError, match=told):
        getattr(open_run(runs[name].folder), asked)


def test_a_run_is_copied_and_pickled(runs: dict[str, Opened[Any]]) -> None:
    """As workers of other programs need it; the copy reads on."""
    run: Any = open_run(runs["first"].folder)
    for again in (copy.copy(run), pickle.loads(pickle.dumps(run))):  # noqa: S301  (our own)
        assert [*HISTORY] == again.history()


def test_a_training_has_scores_and_history(runs: dict[str, Opened[Any]]) -> None:
    """As the manifest and the file hold them."""
    run: Any = open_run(runs["first"].folder)
    assert SCORES == run.scores
    assert [*HISTORY] == run.history()


@pytest.mark.parametrize("history", [None, {"1": 2}])
def test_a_history_of_another_form_is_told(
    root: Location, runs: dict[str, Opened[Any]], history: object
) -> None:
    """It is data from outside."""
    made = make_training(root, runs["shards"], "odd", history=history)
    with pytest.raises(BadData, match="expected epochs"):
        open_run(made.folder).history()


def test_a_changed_file_is_refused(runs: dict[str, Opened[Any]]) -> None:
    """And so is a missing one."""
    run: Any = open_run(runs["first"].folder)
    (entry,) = run.files("history")
    file = Path(run.location.path, entry.path)
    file.write_text(json.dumps({"epochs": []}))
    with pytest.raises(WrongChecksum):
        run.history()
    file.unlink()
    with pytest.raises(MissingFile):
        run.history()


def test_a_run_keeps_its_scheme(runs: dict[str, Opened[Any]]) -> None:
    """What is passed on opens the same run."""
    run = open_run(runs["shards"].folder)
    assert run.uri.startswith("file:///")
    assert (runs["shards"].manifest, "demo", "shards") == (
        open_run(run.uri).manifest,
        run.name,
        run.kind,
    )
    assert str(runs["shards"].folder) in repr(run)


def test_a_notebook_shows_a_run(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Its facts and scores, as text even where they look like HTML."""
    scores = {"val": {"<b>accuracy": 0.5}}
    made = make_training(root, runs["shards"], "odd", scores=scores)
    shown = open_run(made.folder)._repr_html_()
    assert all(text in shown for text in ("odd", "demo", "model.py:build", "&lt;b&gt;accuracy"))
    assert "<b>" not in shown
    for name, text in {"features": "1 of 1 recording", "shards": "train 5"}.items():
        assert text in open_run(runs[name].folder)._repr_html_()
