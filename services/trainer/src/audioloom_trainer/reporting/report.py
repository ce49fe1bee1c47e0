"""The HTML report of a run: one file that needs no other file.

The report shows the manifest, the history and the evaluation and adds no results of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from audioloom_runs.goodput import LABELS
from audioloom_stage.redaction import redact

from audioloom_trainer.reporting.charts import line_chart, reliability_chart, share_bar
from audioloom_trainer.reporting.markup import Markup, element, joined, page
from audioloom_trainer.reporting.style import STYLE
from audioloom_trainer.runs.timeline import Interval, thinned

_MOST_CLASSES = 50
_MOST_ROWS = 200
_MOST_POINTS = 400
_SHADES = 9


def report(
    title: str,
    facts: Sequence[tuple[str, str]],
    history: Sequence[Mapping[str, float]],
    evaluation: Mapping[str, Any],
    timeline: Sequence[Interval],
    seconds: Mapping[str, float],
) -> str:
    """Return the report of a run as HTML.

    Args:
        title: the run's name.
        facts: names and values.
        history: the scores of each epoch.
        evaluation: the scores of each split.
        timeline: the times of the last attempt's steps.
        seconds: the wall time of all attempts, by class.
    """
    splits: Mapping[str, Any] = evaluation["splits"]
    return page(
        f"{title}: training run",
        STYLE,
        element("h1", title, element("small", " training run")),
        _facts([*facts, ("splits made by", evaluation["splits_by"])]),
        _section("Scores", _scores(splits)),
        _section("Epochs", *_curves(history)),
        *(_split(name, found, evaluation["labels"]) for name, found in splits.items()),
        _section("Wall time", _wall_time(seconds)),
        _section("Time per step", *_times(timeline)),
    )


def _section(heading: str, *content: Markup | None) -> Markup:
    return element("section", element("h2", heading), *content)


def _note(text: str) -> Markup:
    return element("p", text, class_="quiet")


def _facts(facts: Iterable[tuple[str, str]]) -> Markup:
    shown = ((name, redact(value)) for name, value in facts if value)
    rows = (joined(element("dt", name), element("dd", value)) for name, value in shown)
    return element("dl", *rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> Markup:
    kinds = [None if column < words else "number" for column in range(len(head))]

    def row(name: str, cells: Sequence[str]) -> Markup:
        pairs = zip(cells, kinds, strict=True)
        return element("tr", *(element(name, cell, class_=kind) for cell, kind in pairs))

    body = element("tbody", *(row("td", cells) for cells in rows))
    return element("div", element("table", element("thead", row("th", head)), body), class_="wide")


def _scores(splits: Mapping[str, Any]) -> Markup:
    if not splits:
        return _note("The shards have no split but train, so there are no scores.")
    names = list(dict.fromkeys(name for each in splits.values() for name in each["scores"]))
    last = [name for name in _GUESSES if name in names]
    names = [name for name in names if name not in last] + last
    rows = [
        (split, f"{each['records']:,}", *(_share(each["scores"].get(name)) for name in names))
        for split, each in splits.items()
    ]
    guesses = f"{', '.join(f'{name} {_GUESSES[name]}' for name in last)}."
    return joined(_table(("split", "records", *names), rows), _note(guesses) if last else None)


_GUESSES = {
    "chance": "guesses at random",
    "majority": "always answers the commonest label of train",
    "mse_of_mean": "is the mean squared error of always answering the mean of train",
}


def _curves(history: Sequence[Mapping[str, float]]) -> list[Markup]:
    names = list(dict.fromkeys(name for entry in history for name in entry if name != "epoch"))
    charts = []
    for name in (name for name in names if not name.startswith("val_")):
        lines = {
            shown: [(entry["epoch"], entry[key]) for entry in history if key in entry]
            for shown, key in (("train", name), ("val", f"val_{name}"))
        }
        lines = {shown: line for shown, line in lines.items() if line}
        charts.append(line_chart(lines, x="epoch", y=name))
    return [element("div", *charts, class_="charts")]


def _split(name: str, found: Mapping[str, Any], labels: Sequence[str]) -> Markup | None:
    if "confusion" not in found:
        return None
    return joined(
        _section(f"Confusion matrix of {name}", *_confusion(found, labels)),
        _section(f"Classes of {name}", *_classes(found["classes"])),
        _section(f"Calibration of {name}", *_calibration(found)),
        _section(f"Worst records of {name}", _worst(found["worst"])),
    )


def _confusion(found: Mapping[str, Any], labels: Sequence[str]) -> list[Markup]:
    matrix = found["confusion"]
    shown = most_confused(matrix, _MOST_CLASSES)
    answers = (element("th", labels[number], class_="tilt") for number in shown)
    head = [element("th", "true \\ predicted"), *answers]
    rows = []
    for true in shown:
        total = sum(matrix[true])
        cells = (_shaded(matrix[true][said], total, right=true == said) for said in shown)
        rows.append(element("tr", element("th", labels[true]), *cells))
    table = element("table", element("tr", *head), *rows, class_="matrix")
    notes = ["Number of records. A darker cell is a larger share of the true class."]
    if len(shown) < len(labels):
        notes.append(f"Of {len(labels):,} classes these {len(shown)} have most errors.")
    return [element("div", table, class_="wide"), _note(" ".join(notes))]


def _shaded(count: int, total: int, *, right: bool) -> Markup:
    shade = round(_SHADES * count / total) if total else 0
    kind = "right" if right else "wrong"
    return element("td", f"{count:,}" if count else "", class_=f"{kind} shade{shade}")


def _classes(classes: Sequence[Mapping[str, Any]]) -> list[Markup]:
    shown = classes
    if len(classes) > _MOST_ROWS:
        known = [each for each in classes if each["recall"] is not None]
        shown = sorted(known, key=lambda each: float(each["recall"]))[:_MOST_ROWS]
    rows = [
        (each["label"], f"{each['records']:,}", _share(each["precision"]), _share(each["recall"]))
        for each in shown
    ]
    table = _table(("label", "records", "precision", "recall"), rows)
    if len(shown) == len(classes):
        return [table]
    return [table, _note(f"Of {len(classes):,} classes the {len(shown)} of the lowest recall.")]


def _calibration(found: Mapping[str, Any]) -> list[Markup]:
    known = found["calibration"]
    if known is None:
        return [_note("The outputs of this model are not probabilities, so it has no calibration.")]
    error = known["expected_calibration_error"]
    text = (
        f"Expected calibration error {error:.4f}: the mean difference between confidence and"
        " accuracy. A bar below the line means overconfidence. Pale bars hold few records."
    )
    return [element("div", reliability_chart(known["bins"]), class_="charts"), _note(text)]


def _worst(worst: Sequence[Mapping[str, Any]]) -> Markup:
    if not worst:
        return _note("The outputs of this model are not probabilities: no record has a loss.")
    rows = [
        (
            each["path"],
            each["label"],
            each["predicted"],
            f"{each['window']}",
            "mix" if each["channel"] < 0 else f"{each['channel']}",
            _share(each["confidence"]),
            _share(each["loss"]),
        )
        for each in worst
    ]
    head = ("recording", "true", "predicted", "window", "channel", "confidence", "loss")
    return _table(head, rows, words=3)


def _wall_time(seconds: Mapping[str, float]) -> Markup:
    if not seconds:
        return _note("The wall time of this run is not known.")
    parts = {label: seconds.get(name, 0.0) for name, label in LABELS.items()}
    whole = f"{sum(parts.values()):,.1f} s across all attempts, until this page was written."
    return joined(share_bar(parts, "s"), _note(whole))


def _times(timeline: Sequence[Interval]) -> list[Markup]:
    if not timeline:
        return [_note("This run has no times of steps.")]
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


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def most_confused(matrix: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return the numbers of the *most* classes with most mistakes, in ascending order."""
    wrong = np.array(matrix, np.int64)
    np.fill_diagonal(wrong, 0)
    mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    chosen = np.argsort(-mistakes, kind="stable")[:most]
    return sorted(chosen.tolist())
