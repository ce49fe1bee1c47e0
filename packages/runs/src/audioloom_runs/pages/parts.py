"""Parts of which pages about runs are made: sections, facts, tables, scores and curves."""

from collections.abc import Iterable, Mapping, Sequence

from audioloom_stage.redaction import redact

from audioloom_runs.goodput import LABELS
from audioloom_runs.pages.charts import line_chart, meter, share_bar
from audioloom_runs.pages.markup import Child, Markup, element, joined
from audioloom_runs.scores import score_text

_GUESSES = {
    "chance": "guesses at random",
    "majority": "always answers the commonest label of train",
    "mse_of_mean": "is the mean squared error of always answering the mean of train",
}

_NAMED = 5


def section(heading: str, *content: Child) -> Markup:
    """Make a section under a heading."""
    return element("section", element("h2", heading), *content)


def note(text: str) -> Markup:
    """Make a quiet line of text."""
    return element("p", text, class_="quiet")


def warning(text: str, names: Sequence[str]) -> Markup | None:
    """Make a line about names that deserve attention; nothing without names."""
    some = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    return element("p", f"{text} ({len(names):,}): {some}", class_="warning") if names else None


def facts(named: Iterable[tuple[str, Child]]) -> Markup:
    """Make a list of facts, each after its name, without empty ones and with secrets masked."""
    shown = (
        (name, value if isinstance(value, Markup) else redact(value))
        for name, value in named
        if value
    )
    rows = (joined(element("dt", name), element("dd", value)) for name, value in shown)
    return element("dl", *rows)


def table(head: Sequence[str], rows: Iterable[Sequence[Child]], *, words: int = 1) -> Markup:
    """Make a table whose first *words* columns are words, and the others numbers."""
    kinds = [None if column < words else "number" for column in range(len(head))]

    def row(name: str, cells: Sequence[Child]) -> Markup:
        pairs = zip(cells, kinds, strict=True)
        return element("tr", *(element(name, cell, class_=kind) for cell, kind in pairs))

    body = element("tbody", *(row("td", cells) for cells in rows))
    return element(
        "div",
        element("table", element("thead", row("th", head)), body),
        class_="wide",
        tabindex="0",
    )


def amounts(head: Sequence[str], named: Mapping[str, int]) -> Markup:
    """Make a table of amounts, each with a bar that is as long as its share of the largest."""
    most = max(named.values())
    rows = [(name, meter([amount / most]), f"{amount:,}") for name, amount in named.items()]
    return table((head[0], "", head[1]), rows, words=2)


def cut(shown: int, whole: int, kind: str, order: str) -> Markup | None:
    """Say which of many rows are shown; nothing if all are."""
    return note(f"Of {whole:,} {kind}, the {shown:,} {order}.") if shown < whole else None


def wall_time_bar(seconds: Mapping[str, float]) -> Markup:
    """Draw the wall time of a training as a bar of its classes, with the seconds of each."""
    parts = {label: seconds.get(name, 0.0) for name, label in LABELS.items()}
    whole = sum(parts.values())
    goodput = f"{parts[LABELS['steps']] / whole:.0%} of it in steps" if whole else "none in steps"
    told = f"{whole:,.1f} s across all attempts, {goodput}."
    return joined(share_bar(parts, "s"), note(told))


def scores_table(
    scores: Mapping[str, Mapping[str, float]], records: Mapping[str, int] | None = None
) -> Markup:
    """Make a table of the scores of each split, the baselines last, with a note on the baselines.

    *records* are the records of each split, if they are known.
    """
    names = list(dict.fromkeys(name for each in scores.values() for name in each))
    last = [name for name in _GUESSES if name in names]
    names = [name for name in names if name not in last] + last
    counts = records or {}
    rows = [
        (
            split,
            *([f"{counts[split]:,}"] if split in counts else ()),
            *(number(each.get(name)) for name in names),
        )
        for split, each in scores.items()
    ]
    guesses = f"{', '.join(f'{name} {_GUESSES[name]}' for name in last)}."
    head = ("split", *(("records",) if counts else ()), *names)
    return joined(table(head, rows), note(guesses) if last else None)


def epoch_charts(history: Sequence[Mapping[str, float]]) -> Markup:
    """Draw each metric over the epochs, train and val in one chart."""
    names = list(dict.fromkeys(name for entry in history for name in entry if name != "epoch"))
    charts = []
    for name in dict.fromkeys(name.removeprefix("val_") for name in names):
        lines = {
            shown: [(entry["epoch"], entry[key]) for entry in history if key in entry]
            for shown, key in (("train", name), ("val", f"val_{name}"))
        }
        lines = {shown: line for shown, line in lines.items() if line}
        charts.append(line_chart(lines, x="epoch", y=name))
    return element("div", *charts, class_="charts")


def number(value: float | None) -> str:
    """Format a score; nothing for None."""
    return "" if value is None else score_text(value)
