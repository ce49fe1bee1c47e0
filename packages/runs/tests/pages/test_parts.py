from __future__ import annotations

import re

from audioloom_runs.pages.markup import element
from audioloom_runs.pages.parts import epoch_charts, facts, scores_table, table


def rows(markup: str) -> list[list[str]]:
    """The texts of the cells of a table."""
    found = re.findall(r"<tr>(.*?)</tr>", markup)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found]


def test_secrets_are_masked_and_empty_facts_left_out() -> None:
    """Text is escaped, and markup stays what it is."""
    made = facts([("a", "--password=hunter2"), ("b", ""), ("c", element("b", "<"))])
    assert "hunter2" not in made
    assert "<dt>b</dt>" not in made
    assert "<dd><b>&lt;</b></dd>" in made


def test_words_come_before_numbers() -> None:
    """Numbers stand right."""
    made = table(("name", "of", "count"), [("a", "b", "3")], words=2)
    assert 2 == made.count('class="number"')
    assert [["name", "of", "count"], ["a", "b", "3"]] == rows(made)


def test_baselines_come_last_with_what_they_mean() -> None:
    """Beside the scores that they are to be compared with; a missing score is empty."""
    scores = {"val": {"chance": 0.5, "loss": 1.0}, "test": {"chance": 0.25, "loss": 2.0, "f1": 0.1}}
    made = scores_table(scores, {"val": 1200, "test": 8})
    assert [
        ["split", "records", "loss", "f1", "chance"],
        ["val", "1,200", "1.0000", "", "0.5000"],
        ["test", "8", "2.0000", "0.1000", "0.2500"],
    ] == rows(made)
    assert "chance guesses at random." in made
    assert [["split", "loss"], ["val", "1.0000"]] == rows(scores_table({"val": {"loss": 1.0}}))


def test_each_metric_has_a_chart_for_train_and_val() -> None:
    """A metric of val alone too."""
    made = epoch_charts([{"epoch": n, "loss": n, "val_loss": n, "val_f1": n} for n in (1, 2)])
    assert ["loss over epoch", "f1 over epoch"] == re.findall(r'aria-label="([^"]*)"', made)
    assert 3 == made.count("<polyline")
