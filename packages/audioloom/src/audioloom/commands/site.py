"""`site`: write a static web site about all runs under a root."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from audioloom_manifest.layout import FOLDERS
from audioloom_runs.pages.markup import element
from audioloom_runs.pages.parts import note
from audioloom_runs.run_list import open_root
from audioloom_runs.settings import RootSettings
from audioloom_stage.errors import InputMissing
from audioloom_stage.escapes import safe_text
from audioloom_stage.result import Result
from audioloom_storage import exists

from audioloom.settings import SiteSettings
from audioloom.site.index import compare_page, index_page
from audioloom.site.layout import site_page
from audioloom.site.lineage import Lineage, graph
from audioloom.site.publish import publish, site_folder
from audioloom.site.read import SiteRun, read_runs
from audioloom.site.run_page import run_page

_MOST_NEWEST, _MOST_DRAWN = 200, 300


def make_site(settings: SiteSettings) -> Result:
    """Read all runs and write their pages."""
    target = site_folder(settings.to)
    root = open_root(RootSettings(root=settings.root))
    if not any(exists(root / folder) for folder in FOLDERS.values()):
        raise InputMissing(
            where=root,
            expected=f"a root of runs, with one of the folders {', '.join(FOLDERS.values())}",
            found="none of them",
            hint="ROOT is what the stages were given as --root.",
        )
    runs = read_runs(root)
    publish(target, _pages(safe_text(root), runs))
    counts = Counter(run.state for run in runs)
    first = target / "index.html"
    return Result(
        str(first),
        {
            "root": str(root),
            "site": str(target),
            "index": str(first),
            "runs": len(runs),
            "states": dict(counts),
            "unreadable": [run.location for run in runs if run.state == "unreadable"],
        },
    )


def _pages(root: str, runs: Sequence[SiteRun]) -> Iterator[tuple[str, str]]:
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    made = f"Made on {now} by audioloom {version('audioloom')}; all times are UTC."
    lineage = Lineage(runs)
    yield "index.html", index_page(root, runs, made)
    yield "compare.html", compare_page(runs)
    yield "lineage.html", _lineage_page(lineage)
    for run in runs:
        yield run.page, run_page(run, lineage)


def _lineage_page(lineage: Lineage) -> str:
    """The newest runs with all that they were made from."""
    places = lineage.ancestors([*lineage.runs][:_MOST_NEWEST])
    others = [place for place in lineage.runs if place not in places]
    text = "A dashed box is an input that is no run under this root. A dashed line leads from a run"
    text += " that was made anew since."
    drawn = graph(lineage, [*places, *others], most=_MOST_DRAWN) if lineage.runs else None
    return site_page(
        "Lineage",
        element("h1", "Lineage"),
        drawn or note("There are no runs yet."),
        note(text) if drawn else None,
        name="lineage.html",
    )
