"""The first page of the site, a table of all runs, and the page that compares picked ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from audioloom_runs.pages.markup import Child, Markup, data, element, joined
from audioloom_runs.pages.palette import COLOURS
from audioloom_runs.pages.parts import note, number
from audioloom_runs.tables import duration_text

from audioloom.site.layout import site_page
from audioloom.site.read import SiteRun, date_text

_COLUMNS = {
    "run": "ascending",
    "kind": "ascending",
    "state": "ascending",
    "date": "descending",
    "duration": "descending",
    "input": "ascending",
    "holds": "descending",
    "score": "descending",
}
"""The columns that runs are sorted by, and the direction of the first click."""
_SHORT = 160
_MOST_COMPARED = 12
_MOST_POINTS = 100


def index_page(root: str, runs: Sequence[SiteRun], made: str) -> str:
    """Make the page of all runs; *made* says when and with which release."""
    counts = Counter(run.state for run in runs)
    told = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    box = element(
        "input", type="search", id="filter", aria_label="Filter runs", placeholder="Filter"
    )
    tools = element(
        "div",
        box,
        element("p", "", id="shown", class_="quiet", aria_live="polite"),
        element("p", "Tick two or more runs to compare them.", id="hint", class_="quiet"),
        element(
            "a", "Compare", id="compare", class_="button", href="compare.html", hidden="hidden"
        ),
        class_="tools",
    )
    return site_page(
        "All runs",
        element("h1", "All runs", element("small", f" {root}")),
        tools if runs else note("There are no runs yet."),
        _table(runs) if runs else None,
        note(f"{told}. {made}" if runs else made),
        name="index.html",
        script=bool(runs),
    )


def _table(runs: Sequence[SiteRun]) -> Markup:
    heads = [
        element(
            "th",
            element("button", name, type="button"),
            scope="col",
            data_first=first,
            aria_sort="descending" if name == "date" else None,
        )
        for name, first in _COLUMNS.items()
    ]
    pick = element("th", element("span", "", aria_label="pick"), scope="col")
    body = element("tbody", *map(_row, runs))
    return element(
        "table", element("thead", element("tr", pick, *heads)), body, id="all", class_="runs"
    )


def _row(run: SiteRun) -> Markup:
    pick = element("input", type="checkbox", value=_id(run), aria_label=f"Pick {run.name}")
    short = run.detail if len(run.detail) <= _SHORT else f"{run.detail[: _SHORT - 1]}…"
    detail = element("small", short) if short else None
    state = element("span", run.state, class_=f"state {run.state}")
    inputs = ", ".join(each.name for each in run.inputs)
    cells: Mapping[str, tuple[Child, str | float]] = {
        "run": (element("a", run.name, href=run.page), run.name),
        "kind": (run.kind, run.kind),
        "state": (joined(state, detail), run.state),
        "date": (date_text(run.changed), run.changed),
        "duration": (duration_text(run.seconds), "" if run.seconds is None else run.seconds),
        "input": (inputs, inputs),
        "holds": (run.holds[0], run.holds[1] or ""),
        "score": _score(run),
    }
    return element(
        "tr",
        element("td", pick, data_name="compare"),
        *(
            element(
                "td",
                element("span", shown) if shown else None,
                data_name=name,
                data_sort=key if key != shown else None,
            )
            for name, (shown, key) in cells.items()
        ),
    )


def _score(run: SiteRun) -> tuple[Child, str | float]:
    found = run.headline
    if found is None:
        return "", ""
    split, metric, value = found
    chance = run.scores[split].get("chance")
    beside = f", chance {chance:.3f}" if metric == "accuracy" and chance is not None else ""
    shown = joined(f"{value:.3f}", element("small", f"{metric} on {split}{beside}"))
    return shown, value


def compare_page(runs: Sequence[SiteRun]) -> str:
    """Make the page that compares runs: it holds what can differ, and the script picks from it."""
    value = {"runs": [*map(_compared, runs)], "colours": [*COLOURS], "most": _MOST_COMPARED}
    return site_page(
        "Compare",
        element("h1", "Compare runs"),
        element("div", element("noscript", "This page needs JavaScript."), id="comparison"),
        data("runs", value),
        name="compare.html",
        script=True,
    )


def _compared(run: SiteRun) -> dict[str, Any]:
    known = {
        "kind": run.kind,
        "state": run.state,
        "date": date_text(run.changed),
        "duration": duration_text(run.seconds),
        "inputs": ", ".join(each.name for each in run.inputs),
    }
    for split, scores in run.scores.items():
        known |= {f"{split} {metric}": number(value) for metric, value in scores.items()}
    for heading, found in run.facts.items():
        known |= {f"{heading.lower()}: {name}": value for name, value in found.items()}
    return {"id": _id(run), "name": run.name, "facts": known, "curves": _curves(run)}


def _curves(run: SiteRun) -> dict[str, list[tuple[float, float]]]:
    names = dict.fromkeys(name for entry in run.history for name in entry if name != "epoch")
    found = {}
    for name in names:
        rounded = (
            (each["epoch"], float(f"{each[name]:.5g}")) for each in run.history if name in each
        )
        points = [point for point in rounded if isfinite(point[1])]  # JSON has no other numbers
        found[name] = points[:: max(1, -(-len(points) // _MOST_POINTS))]
    return found


def _id(run: SiteRun) -> str:
    return run.page.removesuffix(".html")
