"""The page of a run: written once, and safe, readable and quiet in a real browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import Opened
from audioloom_runs.pages.features import features_sections
from audioloom_runs.pages.markup import Markup, element
from audioloom_runs.pages.report import write_report
from audioloom_runs.pages.shards import shards_sections
from audioloom_stage.errors import NameTaken
from audioloom_storage import locate
from chromium_pipe import Page, browsing
from page_runs import HOSTILE, features, sample, shards

MANY = [f"word {n}" for n in range(1000)]
REFUSALS: dict[str, Any] = {HOSTILE[0]: [(HOSTILE[1], HOSTILE[2])]}


def report(manifest: Any, sections: Markup, to: Path) -> str:
    opened = Opened(manifest, locate(to.parent / "run"), "", ())
    return str(write_report(opened, sections, str(to)).text)


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    """Not even by a page that begins like it; the same page is found written."""
    manifest, to = features(["a"]), tmp_path / "new" / "page.html"
    assert str(to) == report(manifest, element("p", "one"), to)
    before = to.read_bytes()
    assert str(to) == report(manifest, element("p", "one"), to)
    with pytest.raises(NameTaken, match="expected nothing, or this page"):
        report(manifest, element("p", "two"), to)
    assert before == to.read_bytes()


def test_a_page_says_what_it_is_about(tmp_path: Path) -> None:
    """Who made the run, when, where and of what; secrets of its location are masked."""
    to = tmp_path / "page.html"
    manifest = features(["a"])
    report(manifest, element("p", "x"), to)
    text = to.read_text()
    for told in (manifest.name, manifest.identity, "5 min 0 s", "recordings calls-2026"):
        assert told in text


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The addresses of pages of odd runs."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = dict.fromkeys(HOSTILE, 4)
    runs: dict[str, tuple[Any, Any]] = {
        "hostile": (
            features(HOSTILE, refusals={HOSTILE[0]: 2}),
            sample([*HOSTILE], [*HOSTILE], refusals=REFUSALS, flags=Counter(hostile)),
        ),
        "one-label": (features(["a"]), sample(["a"], ["g"])),
        "no-label": (features([]), sample([None], [None])),
        "many": (features(MANY, refusals={"empty": 1}), sample([*MANY], [*MANY])),
    }
    for name, (manifest, found) in runs.items():
        report(manifest, features_sections(manifest, found), folder / f"features-{name}.html")
    balances = {
        "hostile": shards(
            HOSTILE, {"train": hostile, "val": hostile}, excluded=hostile, class_weights=hostile
        ),
        "one-label": shards(["a"], {"train": {"a": 4}}),
        "no-label": shards([], {"train": {}, "val": {}}),
        "many": shards(MANY, {"train": dict.fromkeys(MANY, 3), "test": dict.fromkeys(MANY[9:], 1)}),
    }
    for name, manifest in balances.items():
        report(manifest, shards_sections(manifest), folder / f"shards-{name}.html")
    return [path.as_uri() for path in sorted(folder.glob("*.html"))]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A page of a browser that must have nothing to complain of, and must ask for nothing else."""
    with browsing(tmp_path / "profile") as found:
        found.show(1280)
        yield found
        assert [] == found.complaints
        assert [] == [each for each in found.requests if not each.endswith(".html")]


def test_nothing_that_is_shown_is_run(pages: list[str], page: Page) -> None:
    """No element or attribute but ours, and all of the text is there."""
    assert 8 == len(pages)
    for address in pages:
        page.open(address)
        assert "" == page.value("document.documentElement.id"), address
        assert 0 == page.value("document.querySelectorAll('img, iframe, form, a, script').length")
        names = page.value(
            "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
        )
        assert [] == [name for name in names if name.startswith("on")]
        if "hostile" in address:
            shown = page.value("document.body.textContent")
            for label in HOSTILE:
                assert label.replace("\u202e", r"\u202e") in shown


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_phone(pages: list[str], page: Page, dark: bool) -> None:
    """At 360 pixels only tables scroll, each in its box, which the keyboard reaches."""
    page.show(360, dark=dark)
    for address in pages:
        page.open(address)
        assert 360 >= page.value("document.documentElement.scrollWidth"), address
        boxes = "[...document.querySelectorAll('*')].filter((e) => e.scrollWidth > e.clientWidth"
        boxes += " && getComputedStyle(e).overflowX === 'auto')"
        assert all(page.value(f"{boxes}.map((e) => e.tabIndex === 0)"))
        low = "[...document.querySelectorAll('td, th')].filter((e) => e.textContent.length > 3 &&"
        low += " e.clientHeight > 12 * e.clientWidth).length"
        assert 0 == page.value(low), address
        paper = page.value("getComputedStyle(document.body).backgroundColor")
        assert dark == (paper == "rgb(20, 25, 31)")
