"""What all pages of the site share: style, script, navigation."""

from importlib.resources import files

from audioloom_runs.pages.markup import Child, element, page

_FILES = files("audioloom.site")
STYLE = "\n" + (_FILES / "site.css").read_text(encoding="utf-8")
SCRIPT = (_FILES / "site.js").read_text(encoding="utf-8")
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
        STYLE,
        element("nav", *links, aria_label="Site"),
        element("main", *body),
        script=SCRIPT if script else "",
    )
