"""The page of a run, in a real browser: it shows what it is given and runs none of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_trainer.evaluation.scores import binned, calibration, class_table, count_by_class
from audioloom_trainer.report_page import headline, macro_f1, most_confused, report, wilson_interval
from audioloom_trainer.runs.timeline import Interval
from chromium_pipe import Page, browsing
from hypothesis import given
from hypothesis import strategies as st
from trainer_program import Trained

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>document.title='owned'</script>",
    "' onmouseover='alert(1)",
    "{{7*7}} &lt; \u202eevil",
)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    """A page of a browser that must ask for nothing else."""
    with browsing(tmp_path / "profile") as page:
        page.show(1280)
        yield page
        assert [] == [each for each in page.requests if not each.endswith(".html")]


def evaluation(labels: tuple[str, ...]) -> dict[str, Any]:
    """Of a model that is often wrong, with labels and paths of the same kind."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(1, 9, (len(labels), len(labels)))
    confidence = rng.random(99).astype(np.float32)
    row = {"window": 0, "channel": -1, "confidence": 0.9, "loss": 4.2}
    one: dict[str, Any] = {
        "records": int(matrix.sum()),
        "groups": 1234,
        "scores": {"loss": 1.0, "accuracy": 0.5, "chance": 0.2, "majority": 0.3},
        "confusion": matrix.tolist(),
        "classes": class_table(count_by_class(matrix), labels),
        "calibration": calibration(binned(confidence, confidence > 0.5)),
        "worst": [
            {"path": f"{x}.wav", "label": x, "predicted": labels[0], **row} for x in labels[1:20]
        ],
    }
    return {
        "labels": list(labels),
        "splits_by": labels[0],
        "splits": {"test": {**one}, "val": {**one}},
    }


HISTORY = [{"epoch": 1, "loss": 2.0, "val_loss": 2.5}, {"epoch": 2, "loss": 1.0, "val_loss": 2.0}]
SECONDS = {"importing": 12.5, "steps": 80.0, "lost_steps": 7.5}
TIMES = [Interval(16 * n, 16, 0.02, 0.25, 0.1) for n in range(1, 2000)]


def test_nothing_that_is_shown_is_run(tmp_path: Path, browser: Page) -> None:
    """Labels, paths, names and facts are text, to a browser too, and all of the text is there."""
    facts = [(text, text) for text in HOSTILE]
    html = report(HOSTILE[0], facts, HISTORY, evaluation(HOSTILE), TIMES, SECONDS)
    page = tmp_path / "report.html"
    page.write_text(html)
    browser.open(page.as_uri())
    assert 0 == browser.value("document.querySelectorAll('script, img, iframe, form, a').length")
    names = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
    assert [] == [name for name in browser.value(names) if name.startswith("on")]
    text = browser.value("document.body.textContent")
    for hostile in HOSTILE:
        assert hostile.replace("\u202e", r"\u202e") in text
    assert [] == browser.complaints


def test_a_script_of_another_would_not_run(tmp_path: Path, browser: Page) -> None:
    """Even if a hole let one in, the content policy would not."""
    page = tmp_path / "report.html"
    probe = "<script>document.documentElement.id = 'ran'</script>"
    page.write_text(report("run", [], HISTORY, evaluation(("a",)), [], {}).replace("</h1>", probe))
    browser.open(page.as_uri())
    assert "" == browser.value("document.documentElement.id")
    assert "Content Security Policy" in browser.complaints.pop()
    page.write_text(f"<body>{probe}</body>")
    browser.open(page.as_uri())
    assert "ran" == browser.value("document.documentElement.id")


@pytest.mark.parametrize("labels", [HOSTILE, ("a",), tuple(f"word{n}" for n in range(60))])
def test_a_phone_is_wide_enough(tmp_path: Path, browser: Page, labels: tuple[str, ...]) -> None:
    """At 360 pixels tables scroll in their own boxes, and no name is broken letter by letter."""
    page = tmp_path / "report.html"
    page.write_text(report("run", [], HISTORY, evaluation(labels), TIMES, SECONDS))
    for dark in (False, True):
        browser.show(360, dark=dark)
        browser.open(page.as_uri())
        assert 360 >= browser.value("document.documentElement.scrollWidth")
        narrow = "[...document.querySelectorAll('.matrix tr th:first-child')]"
        assert 90 <= min(browser.value(f"{narrow}.map((e) => e.clientWidth)"))
    assert [] == browser.complaints


def test_splits_stand_side_by_side(tmp_path: Path, browser: Page) -> None:
    """Val left and test right on a wide screen, with a headline for each."""
    page = tmp_path / "report.html"
    page.write_text(report("run", [], HISTORY, evaluation(("a", "b")), TIMES, SECONDS))
    browser.open(page.as_uri())
    heads = "[...document.querySelectorAll('h3')].slice(0, 2)"
    assert ["val", "test"] == browser.value(f"{heads}.map((e) => e.textContent)")
    (left, top), (right, other) = browser.value(
        f"{heads}.map((e) => [e.getBoundingClientRect().x, e.getBoundingClientRect().y])"
    )
    assert left < right
    assert top == other
    cards = browser.value("[...document.querySelectorAll('.cards > div')].map((e) => e.innerText)")
    assert ["accuracy on val", "accuracy on test"] == [each.split("\n")[0] for each in cards]
    assert "from 1,234 groups" in cards[0]


def test_many_classes_stay_readable() -> None:
    """The fifty in most mistakes, and the two hundred of the lowest recall; it says so."""
    html = report("run", [], HISTORY, evaluation(tuple(f"word{n}" for n in range(300))), [], {})
    assert "Of 300 classes, the 50 with most errors." in html
    assert "Of 300 classes, the 200 of the lowest recall." in html
    assert 100 == html.count('class="tilt"')  # 50 of each split


def test_too_many_classes_have_no_matrix() -> None:
    """The rest of the page says the same as with one."""
    found = evaluation(("a", "b", "c"))
    cards = headline(found["splits"])
    for each in found["splits"].values():
        each["confusion"] = None
    assert cards == headline(found["splits"])
    html = report("run", [], HISTORY, found, [], {})
    assert "Confusion matrix" not in html
    assert "Wrong records" in html


def test_what_is_not_known_is_said() -> None:
    """No empty plot: no times, no probabilities, no split to score."""
    found = evaluation(("a", "b"))
    for each in found["splits"].values():
        each |= {"calibration": None, "worst": []}
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
    assert "loss on val" in html
    assert "Confusion" not in html


def test_records_that_are_right_are_not_called_wrong() -> None:
    """As the worst ones of a perfect model are."""
    found = evaluation(("a", "b"))
    for each in found["splits"].values():
        each["worst"] = [{**each["worst"][0], "label": "a", "predicted": "a", "path": "right.wav"}]
    html = report("run", [], HISTORY, found, [], {})
    assert "The records of the highest loss are right." in html
    assert "right.wav" not in html


def test_a_run_has_its_page(trained: Trained, browser: Page) -> None:
    """Listed and checked as its files are: scores, provenance and worst records, in a browser."""
    (entry,) = trained.run.files("report")
    page = Path(trained.run.folder.path, entry.path)
    browser.open(page.as_uri())
    text = browser.value("document.body.innerText")
    for shown in (
        trained.run.manifest.name,
        "builtin:conv1d filters=4",
        "majority",
        "95 % interval",
        "macro-F1",
        "tensorflow",
        "made from",
    ):
        assert shown in text
    assert re.search(r"val/\d+/\d+", text)
    assert re.search(r"right, from \d+ groups?\b", text)


@pytest.mark.parametrize(
    ("right", "records", "expected"),
    [(0, 10, (0.0, 0.27753)), (5, 10, (0.23659, 0.76341)), (10, 10, (0.72247, 1.0))],
)
def test_an_interval_is_that_of_wilson(
    right: int, records: int, expected: tuple[float, float]
) -> None:
    """As published tables have it: not 0 wide where nothing, or all, is right."""
    assert expected == pytest.approx(wilson_interval(right, records), abs=1e-5)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_an_interval_holds_the_share(records: int, share: float) -> None:
    """And never leaves 0 to 1."""
    right = round(share * records)
    low, high = wilson_interval(right, records)
    assert 0 <= low <= right / records + 1e-12
    assert right / records - 1e-12 <= high <= 1


def test_macro_f1_counts_every_class_the_same() -> None:
    """However few records it has; a class that is neither true nor predicted does not count."""

    def found(*matrix: list[int]) -> float:
        labels = [f"word{n}" for n in range(len(matrix))]
        return macro_f1(class_table(count_by_class(np.array(matrix)), labels))

    assert (2 * 90 / 190 + 0) / 2 == pytest.approx(found([90, 0], [10, 0]))
    assert 1.0 == found([5, 0, 0], [0, 1, 0], [0, 0, 0])
    assert 0.0 == found([0])


def test_numbers_have_their_loss_as_the_headline() -> None:
    """Beside that of a model that always answers the mean."""
    found = {"val": {"records": 4, "groups": 2, "scores": {"loss": 2.0, "mse_of_mean": 8.0}}}
    text = headline(found)
    for told in ("loss on val", "2.0000", "4 records, from 2 groups", "the mean of train: 8.0000"):
        assert told in text
    assert "interval" not in text


def test_one_group_is_counted_in_the_singular() -> None:
    """A page reads as a person would write it."""
    assert "4 records, from 1 group<" in headline(
        {"val": {"records": 4, "groups": 1, "scores": {"loss": 2.0}}}
    )


MATRIX = [[90, 0, 0, 1], [0, 5, 7, 0], [0, 2, 9, 0], [0, 0, 0, 99]]


def test_few_classes_are_all_looked_at() -> None:
    """In their own order."""
    assert [0, 1, 2, 3] == most_confused(MATRIX, 50)


def test_of_many_those_in_most_mistakes_are() -> None:
    """Said wrongly or said instead; records that are right do not count."""
    assert [1, 2] == most_confused(MATRIX, 2)
    assert [0, 1, 2] == most_confused(MATRIX, 3)
