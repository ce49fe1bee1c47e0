"""The HTML report of a run: one file that needs no other file.

The report shows the manifest, the history and the evaluation and adds no results of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from math import sqrt
from typing import Any

import numpy as np
from audioloom_runs.pages.charts import colour_keys, line_chart, reliability_chart
from audioloom_runs.pages.markup import Markup, element, page
from audioloom_runs.pages.parts import (
    cut,
    epoch_charts,
    facts,
    note,
    number,
    scores_table,
    section,
    table,
    wall_time_bar,
)
from audioloom_stage.terminal import counted

from audioloom_trainer.runs.timeline import Interval, thinned

_MOST_CLASSES = 50
_MOST_ROWS = 200
_MOST_POINTS = 400
_SHADES = 9
_Z = 1.959964
"""Deviations of a normal distribution that 95 % lie within."""

_STYLE = "\n" + (files("audioloom_trainer") / "report.css").read_text(encoding="utf-8")
_UNSCORED = "The shards have no split but train, so there are no scores."
_UNKNOWN = "The wall time of this run is not known."


def report(
    title: str,
    known: Sequence[tuple[str, str]],
    history: Sequence[Mapping[str, float]],
    evaluation: Mapping[str, Any],
    timeline: Sequence[Interval],
    seconds: Mapping[str, float],
) -> str:
    """Return the report of a run as HTML.

    The splits of the *evaluation* have their number of groups, if it is known. The *timeline* is
    that of the last attempt; *seconds* are the wall time of all attempts, by class.
    """
    found: Mapping[str, Any] = evaluation["splits"]
    splits = {name: found[name] for name in dict.fromkeys(("val", "test", *found)) if name in found}
    classed = {name: each for name, each in splits.items() if "classes" in each}
    tables = {name: each for name, each in classed.items() if each["confusion"] is not None}
    labels, scores = evaluation["labels"], {name: each["scores"] for name, each in splits.items()}
    records = {name: each["records"] for name, each in splits.items()}
    return page(
        f"{title}: training run",
        _STYLE,
        element("h1", title, element("small", " training run")),
        headline(splits) if splits else None,
        section("Run", facts([*known, ("splits made by", evaluation["splits_by"])])),
        section("Scores", scores_table(scores, records) if splits else note(_UNSCORED)),
        section("Epochs", epoch_charts(history)),
        _each("Confusion matrix", tables, lambda each: _confusion(each, labels)),
        _each("Classes", classed, _classes),
        _each("Calibration", classed, _calibration),
        _each("Wrong records of the highest loss", classed, _worst, wide=True),
        section("Wall time", wall_time_bar(seconds) if seconds else note(_UNKNOWN)),
        section("Time per step", *_times(timeline)),
    )


def _each(
    heading: str,
    splits: Mapping[str, Any],
    content: Callable[[Mapping[str, Any]], Iterable[Markup | None]],
    *,
    wide: bool = False,
) -> Markup | None:
    """Make a section that shows the splits side by side, or with *wide* one below the other."""
    if not splits:
        return None
    parts = (element("div", element("h3", name), *content(each)) for name, each in splits.items())
    return section(heading, element("div", *parts, class_="rows" if wide else "columns"))


def _confusion(found: Mapping[str, Any], labels: Sequence[str]) -> list[Markup | None]:
    matrix = found["confusion"]
    shown = most_confused(matrix, _MOST_CLASSES)
    answers = (element("th", labels[number], class_="tilt") for number in shown)
    head = [element("th", "true \\ predicted"), *answers]
    rows = []
    for true in shown:
        total, cells = sum(matrix[true]), []
        for said in shown:
            count = matrix[true][said]
            shade = round(_SHADES * count / total) if total else 0
            kind = "right" if true == said else "wrong"
            text = f"{count:,}" if count else ""
            cells.append(element("td", text, class_=f"{kind} shade{shade}"))
        rows.append(element("tr", element("th", labels[true]), *cells))
    grid = element("table", element("tr", *head), *rows, class_="matrix")
    return [
        element("div", grid, class_="wide", tabindex="0"),
        colour_keys(("records that are right", "wrong")),
        note("A stronger colour is a larger share of the true class."),
        cut(len(shown), len(labels), "classes", "with most errors"),
    ]


def _classes(found: Mapping[str, Any]) -> list[Markup | None]:
    shown = classes = found["classes"]
    if len(classes) > _MOST_ROWS:
        known = [each for each in classes if each["recall"] is not None]
        shown = sorted(known, key=lambda each: float(each["recall"]))[:_MOST_ROWS]
    rows = [
        (each["label"], f"{each['records']:,}", number(each["precision"]), number(each["recall"]))
        for each in shown
    ]
    return [
        table(("label", "records", "precision", "recall"), rows),
        cut(len(shown), len(classes), "classes", "of the lowest recall"),
    ]


def _calibration(found: Mapping[str, Any]) -> list[Markup]:
    known = found["calibration"]
    if known is None:
        return [note("The outputs of this model are not probabilities, so it has no calibration.")]
    error = known["expected_calibration_error"]
    text = (
        f"Expected calibration error {error:.4f}: the mean difference between confidence and"
        " accuracy. A bar below the line means overconfidence. Pale bars hold few records."
    )
    keys = colour_keys(("accuracy", "mean confidence"))
    return [element("div", reliability_chart(known["bins"]), class_="charts"), keys, note(text)]


def _worst(found: Mapping[str, Any]) -> list[Markup]:
    if not (worst := found["worst"]):
        return [note("The outputs of this model are not probabilities: no record has a loss.")]
    wrong = [each for each in worst if each["label"] != each["predicted"]]
    if not wrong:
        return [note("The records of the highest loss are right.")]
    rows = [
        (
            each["path"],
            each["label"],
            each["predicted"],
            f"{each['window']}",
            "mix" if each["channel"] < 0 else f"{each['channel']}",
            number(each["confidence"]),
            number(each["loss"]),
        )
        for each in wrong
    ]
    head = ("recording", "true", "predicted", "window", "channel", "confidence", "loss")
    return [table(head, rows, words=3)]


def _times(timeline: Sequence[Interval]) -> list[Markup]:
    if not timeline:
        return [note("This run has no times of steps.")]
    shown = thinned(timeline, _MOST_POINTS)
    seconds = {
        "whole": [(float(each.step), each.seconds * 1e3) for each in shown],
        "waiting for input": [(float(each.step), each.seconds * each.wait * 1e3) for each in shown],
    }
    share = {"waiting for input": [(float(each.step), each.wait) for each in shown]}
    charts = (
        line_chart(seconds, x="step", y="milliseconds per step"),
        line_chart(share, x="step", y="share of the time", limits=(0.0, 1.0)),
    )
    return [element("div", *charts, class_="charts")]


def most_confused(matrix: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return the numbers of the *most* classes with most mistakes, in ascending order."""
    wrong = np.array(matrix, np.int64)
    np.fill_diagonal(wrong, 0)
    mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    chosen = np.argsort(-mistakes, kind="stable")[:most]
    return sorted(chosen.tolist())


def headline(splits: Mapping[str, Any]) -> Markup:
    """Make a card for each split: accuracy with its interval, or the loss where there is none."""
    cards = [_card(name, found) for name, found in splits.items()]
    text = (
        "95 % intervals are Wilson's, over records. Records of one group resemble one another, so"
        " with few groups a score on new groups may lie further away."
    )
    wilson = any("classes" in found for found in splits.values())
    return element("div", element("div", *cards, class_="cards"), note(text) if wilson else None)


def _card(name: str, found: Mapping[str, Any]) -> Markup:
    scores, records = found["scores"], found["records"]
    groups = f", from {counted(found['groups'], 'groups')}" if found.get("groups") else ""
    if "classes" not in found:
        base = scores.get("mse_of_mean")
        beside = f"always answering the mean of train: {number(base)}" if base is not None else ""
        told = [f"{records:,} records{groups}", beside]
        return _shown(f"loss on {name}", number(scores.get("loss")), told)
    classes = found["classes"]
    right = sum(round(each["records"] * (each["recall"] or 0)) for each in classes)
    low, high = wilson_interval(right, records)
    guesses = [f"{key} {scores[key]:.3f}" for key in ("chance", "majority") if key in scores]
    told = [
        f"95 % interval {low:.3f} to {high:.3f}",
        f"{right:,} of {records:,} records right{groups}",
        ", ".join([f"macro-F1 {macro_f1(classes):.3f}", *guesses]),
    ]
    return _shown(f"accuracy on {name}", f"{right / records:.3f}", told)


def _shown(what: str, value: str, told: Sequence[str]) -> Markup:
    lines = (element("span", line) for line in told if line)
    return element("div", element("span", what), element("b", value), *lines)


def wilson_interval(right: int, records: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, 0 to 1 (Wilson 1927, without correction).

    *records* are at least one.
    """
    share, weight = right / records, _Z**2 / records
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * sqrt(share * (1 - share) / records + weight / (4 * records)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def macro_f1(classes: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean F1 of the classes that are true or predicted at least once, 0 to 1."""
    shares = [(each["precision"], each["recall"]) for each in classes]
    scores = [
        2 * precision * recall / (precision + recall) if precision and recall else 0.0
        for precision, recall in shares
        if precision is not None or recall is not None
    ]
    return sum(scores) / max(1, len(scores))
