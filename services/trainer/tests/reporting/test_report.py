"""The page of a run, in a real browser: it shows what it is given and runs none of it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
from audioloom_trainer.evaluation.calibration import binned, calibration
from audioloom_trainer.evaluation.scores import class_table
from audioloom_trainer.reporting.report import report
from audioloom_trainer.runs.timeline import Interval
from headless_browser import document, screenshot
from trainer_program import Trained

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>document.title='owned'</script>",
    "' onmouseover='alert(1)",
    "{{7*7}} &lt; \u202eevil",
)


def evaluation(labels: tuple[str, ...]) -> dict[str, Any]:
    """Of a model that is often wrong, with labels and paths of the same kind."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(1, 9, (len(labels), len(labels)))
    confidence = rng.random(99).astype(np.float32)
    row = {"window": 0, "channel": -1, "confidence": 0.9, "loss": 4.2}
    val = {
        "records": int(matrix.sum()),
        "scores": {"loss": 1.0, "accuracy": 0.5, "chance": 0.2, "majority": 0.3},
        "confusion": matrix.tolist(),
        "classes": class_table(matrix, labels),
        "calibration": calibration(binned(confidence, confidence > 0.5)),
        "worst": [
            {"path": f"{x}.wav", "label": x, "predicted": labels[0], **row} for x in labels[:20]
        ],
    }
    return {"labels": list(labels), "splits_by": labels[0], "splits": {"val": val}}


HISTORY = [{"epoch": 1, "loss": 2.0, "val_loss": 2.5}, {"epoch": 2, "loss": 1.0, "val_loss": 2.0}]
SECONDS = {"importing": 12.5, "steps": 80.0, "lost_steps": 7.5}
TIMES = [Interval(16 * n, 16, 0.02, 0.25, 0.1) for n in range(1, 2000)]


def test_nothing_that_is_shown_is_run(tmp_path: Path) -> None:
    """Labels, paths, names and facts are text, to a browser too, and all of the text is there."""
    facts = [(text, text) for text in HOSTILE]
    html = report(HOSTILE[0], facts, HISTORY, evaluation(HOSTILE), TIMES, SECONDS)
    page = tmp_path / "report.html"
    probe = "<script>document.documentElement.id = 'ran'</script>"
    page.write_text(html.replace("</body>", f"{probe}</body>"))  # even a hole would run nothing
    dom = document(page, tmp_path)
    assert 'id="ran"' not in dom
    assert ["<script>"] == re.findall(r"<script[^>]*>", dom)
    assert [] == re.findall(r"<(?:img|iframe|object|embed|link|form|a)\b", dom)
    assert [] == re.findall(r"<[^>]*\son\w+=(?![^<]*&)", re.sub(r'"[^"]*"', '""', dom))
    text = unescape(re.sub(r"<[^>]*>", "", dom))
    for hostile in HOSTILE:
        assert hostile.replace("\u202e", r"\u202e") in text
    assert b"\x89PNG" == screenshot(page, tmp_path)[:4]


def test_the_probe_would_run_without_the_policy(tmp_path: Path) -> None:
    """So that the test above tests something."""
    page = tmp_path / "page.html"
    page.write_text("<body><script>document.documentElement.id = 'ran'</script></body>")
    assert 'id="ran"' in document(page, tmp_path)


def test_many_classes_stay_readable() -> None:
    """The fifty in most mistakes, and the two hundred of the lowest recall; it says so."""
    html = report("run", [], HISTORY, evaluation(tuple(f"word{n}" for n in range(300))), [], {})
    assert "Of 300 classes these 50 have most errors." in html
    assert "Of 300 classes the 200 of the lowest recall." in html
    assert 50 == html.count('class="tilt"')


def test_what_is_not_known_is_said() -> None:
    """No empty plot: no times, no probabilities, no split to score."""
    found = evaluation(("a", "b"))
    found["splits"]["val"] |= {"calibration": None, "worst": []}
    html = report("run", [], HISTORY, found, [], {})
    assert "This run has no times of steps" in html
    assert "The wall time of this run is not known" in html
    assert "The outputs of this model are not probabilities" in html
    nothing = {"labels": [], "splits_by": "", "splits": {}}
    assert "so there are no scores" in report("run", [], HISTORY, nothing, [], {})


def test_numbers_have_scores_and_no_classes() -> None:
    """As a regression has them."""
    found = {
        "labels": [],
        "splits_by": "group",
        "splits": {"val": {"records": 4, "scores": {"loss": 2.0}}},
    }
    html = report("run", [], HISTORY, found, TIMES, SECONDS)
    assert "2.0000" in html
    assert "steps 80.0 s (80.0%)" in html
    assert "of val" not in html


def test_a_run_has_its_page(trained: Trained, tmp_path: Path) -> None:
    """Listed and checked as its files are: scores and worst records, in a browser."""
    (entry,) = trained.run.files("report")
    page = Path(trained.run.folder.path, entry.path)
    text = unescape(re.sub(r"<[^>]*>", " ", document(page, tmp_path)))
    for shown in (
        trained.run.manifest.name,
        "builtin:conv1d filters=4",
        "majority",
        "Classes of test",
    ):
        assert shown in text
    assert re.search(r"val/\d+/\d+", text)
