"""What all pages of the site share: style, script, navigation."""

from importlib.resources import files

from audioloom_runs.pages.markup import Child, Markup, element, page
from audioloom_runs.pages.style import STYLE

_OWN = """
body { max-width: 76rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin: 0 0 1.6rem; }
nav a[aria-current] { color: var(--ink); text-decoration: none; font-weight: 600; }
pre { margin: 0; padding: .6rem 1.1rem; overflow-x: auto; background: var(--panel);
  border-radius: 6px; font-size: .87rem; }
[hidden] { display: none !important; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem 1.2rem;
  margin: 0 0 1rem; }
.tools p { margin: 0; }
input[type=search] { font: inherit; color: inherit; background: var(--panel); width: 16rem;
  max-width: 100%; padding: .35rem .6rem; border: 1px solid var(--axis); border-radius: 6px; }
input[type=checkbox] { width: 1.1rem; height: 1.1rem; margin: .15rem 0; }
.button { padding: .35rem .9rem; border-radius: 6px; background: var(--link); color: var(--paper);
  text-decoration: none; }
.runs { width: 100%; }
.runs :is(td, th) { min-width: 0; }
.runs th, [data-name=kind], [data-name=date], [data-name=duration] { white-space: nowrap; }
.runs :is([data-name=run], [data-name=input]) { min-width: 11.5rem; }
.runs td:first-child { width: 1.1rem; padding-right: 0; }
.runs button { font: inherit; font-weight: 600; color: var(--quiet); background: none; border: 0;
  padding: 0; cursor: pointer; }
.runs [aria-sort] button { color: var(--ink); }
.runs [aria-sort=ascending] button::after { content: " ↑"; }
.runs [aria-sort=descending] button::after { content: " ↓"; }
.runs small { color: var(--quiet); font-size: .8rem; display: block; }
.state::before { content: ""; display: inline-block; width: .55rem; height: .55rem;
  margin-right: .4rem; border-radius: 50%; background: var(--axis); }
.committed::before, .finished::before { background: #009e73; }
.running::before { background: #0072b2; }
.failed::before, .killed::before, .unreadable::before { background: #d55e00; }
.differences th[scope=row] { font-weight: 400; max-width: 16rem; min-width: 9rem; }
.differences td { min-width: 8rem; max-width: 22rem; }
.lineage { display: block; height: auto; }
.lineage rect { fill: var(--panel); stroke: var(--axis); }
.lineage .elsewhere rect { stroke-dasharray: 4 3; fill: none; }
.lineage .here rect { stroke: var(--link); stroke-width: 2; }
.lineage a text { fill: var(--link); font-size: 12px; }
.lineage .elsewhere text { fill: var(--quiet); font-size: 12px; }
.lineage path { fill: none; stroke: var(--axis); stroke-width: 1.3; }
.lineage .changed { stroke-dasharray: 4 3; stroke: #d55e00; }
@media (max-width: 40rem) {
  .differences td { min-width: 5rem; }
  .runs thead tr { display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
  .runs thead th { padding: .15rem 0; border: 0; }
  .runs tbody tr { display: grid; grid-template-columns: 6.2rem 1fr; padding: .5rem 0;
    border-bottom: 1px solid var(--line); }
  .runs tbody td { border: 0; padding: .1rem 0; display: contents; text-align: left; }
  .runs thead th:first-child { display: none; }
  .runs tbody td::before { content: attr(data-name); color: var(--quiet); }
  .runs tbody td:empty { display: none; }
}
"""

_PAGES = {"index.html": "All runs", "lineage.html": "Lineage", "compare.html": "Compare"}


def site_page(
    title: str, *body: Child, name: str = "", above: str = "", script: bool = False
) -> str:
    """Make a page of the site, or with its *name* one of the three that the navigation names.

    *above* is the path from the page to the first page's folder: "" or "../".
    """
    links = (
        element("a", text, href=above + file, aria_current="page" if file == name else None)
        for file, text in _PAGES.items()
    )
    return page(
        f"{title}: audioloom",
        STYLE + _OWN,
        element("nav", *links, aria_label="Site"),
        element("main", *body),
        script=SCRIPT if script else "",
    )


def state_mark(state: str) -> Markup:
    """The state of a run with a dot of its colour."""
    return element("span", state, class_=f"state {state}")


SCRIPT = (files("audioloom.site") / "site.js").read_text(encoding="utf-8")
