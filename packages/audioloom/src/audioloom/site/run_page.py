"""The page of one run: facts, inputs, scores, curves, settings, versions, lineage."""

import shlex
from collections.abc import Mapping

from audioloom_runs.pages.markup import Child, element
from audioloom_runs.pages.parts import (
    epoch_charts,
    facts,
    note,
    scores_table,
    section,
    table,
    wall_time_bar,
)
from audioloom_runs.tables import duration_text

from audioloom.site.layout import site_page
from audioloom.site.lineage import Lineage, graph
from audioloom.site.read import Input, SiteRun, date_text

_MOST_DRAWN = 60
_MOST_EPOCHS = 400


def run_page(run: SiteRun, lineage: Lineage) -> str:
    """Make the page of a run; *lineage* has all runs."""
    headings = [each for each, found in run.facts.items() if found and each != "Run"]
    sections = [section(each, facts(run.facts[each].items())) for each in headings]
    history = run.history[:: max(1, -(-len(run.history) // _MOST_EPOCHS))]
    logs = run.tensorboard
    if logs.startswith("/"):  # TensorBoard alone reads no HDFS
        logs = shlex.join(["tensorboard", "--logdir", logs])
    return site_page(
        run.name,
        element("h1", run.name, element("small", f" {run.kind}")),
        facts(_about(run)),
        section("Inputs", _inputs(run, lineage.runs)) if run.inputs else None,
        section("Scores", scores_table(run.scores)) if run.scores else None,
        section("Curves", epoch_charts(history)) if history else None,
        section("Wall time", wall_time_bar(run.wall_time)) if run.wall_time else None,
        run.sections,
        element("div", *sections, class_="columns") if sections else None,
        section("TensorBoard", element("pre", logs, tabindex="0")) if logs else None,
        section("Lineage", _lineage(run, lineage)),
        above="../",
    )


def _about(run: SiteRun) -> list[tuple[str, Child]]:
    report = element("a", "report of the training", href=run.report)
    link = run.report.startswith("file://")  # a browser opens no other storage
    return [
        ("state", element("span", run.state, class_=f"state {run.state}")),
        ("what is wrong", run.detail),
        ("date", f"{date_text(run.changed)} UTC" if date_text(run.changed) else ""),
        ("duration", duration_text(run.seconds)),
        ("holds", run.holds[0]),
        *run.facts.get("Run", {}).items(),
        ("location", run.location),
        ("identity", run.identity),
        ("report", report if link else run.report),
    ]


def _inputs(run: SiteRun, runs: Mapping[str, SiteRun]) -> Child:
    rows = [
        (
            element("a", each.name, href=f"../{runs[each.location].page}")
            if each.location in runs
            else each.name,
            each.kind,
            _fate(each, runs),
            each.location,
        )
        for each in run.inputs
    ]
    return table(("run", "kind", "today", "location"), rows, words=4)


def _fate(source: Input, runs: Mapping[str, SiteRun]) -> str:
    found = runs.get(source.location)
    if found is None:
        return "not under this root"
    if found.state != "committed":
        return found.state
    return "as it was" if found.identity == source.identity else "another run"


def _lineage(run: SiteRun, lineage: Lineage) -> Child:
    places = lineage.ancestors([run.location]) | lineage.descendants(run.location, _MOST_DRAWN)
    if len(places) == 1:
        return note("This run was made from no other, and nothing was made from it.")
    return graph(lineage, places, most=_MOST_DRAWN, above="../", here=run.location)
