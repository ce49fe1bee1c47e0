"""The site in a real browser: nothing foreign runs or is loaded, and a keyboard is enough."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom.commands.site import make_site
from audioloom.settings import SiteSettings
from audioloom_storage import Location, locate
from chromium_pipe import Page, browsing
from small_root import HISTORY, make_root, make_training

HOSTILE = [
    "<script>document.documentElement.id = 'ran'<",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "\u202eevil",
]
TABLE = "[...document.querySelectorAll('#all tbody tr:not([hidden])')]"
NAMES = f"{TABLE}.map((row) => row.querySelector('a').textContent)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the site of a root with hostile names, scores and settings."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "loom").mkdir()
    root = locate(folder / "loom")
    runs = make_root(root)
    _make_hostile(root, runs["shards"])
    make_site(SiteSettings(root=root.path, to=str(folder / "site")))
    return f"{(folder / 'site').as_uri()}/"


def _make_hostile(root: Location, shards: Any) -> None:
    for name in HOSTILE:
        Path(root.path, "runs", name).mkdir()
    words = dict.fromkeys(HOSTILE, 0.5)
    make_training(
        root,
        shards,
        "hostile",
        scores={"val": {"accuracy": 0.9, **words}},
        history=[{"epoch": 1, "loss": 9.0, **words}, {"epoch": 2, "loss": 8.0, **words}],
        settings={name: name for name in HOSTILE},
    )


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A page of a browser that must have nothing to complain of, and must ask for nothing else."""
    with browsing(tmp_path / "profile") as found:
        found.show(1280)
        yield found
        assert [] == found.complaints
        assert {"file"} == {address.partition(":")[0] for address in found.requests}
        assert [] == [
            each for each in found.requests if not each.partition("#")[0].endswith("html")
        ]


def everywhere(site: str) -> list[str]:
    folder = Path(site.removeprefix("file://"))
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return [f"{site}{name}" for name in names] + [
        f"{site}compare.html#runs/hostile,runs/first,nonsense,%"
    ]


def test_nothing_that_is_shown_is_run(site: str, page: Page) -> None:
    """On no page is there an element or attribute but ours; all of the text is there."""
    addresses = everywhere(site)
    assert len(addresses) > 12
    for address in addresses:
        page.open(address)
        assert "" == page.value("document.documentElement.id"), address
        assert 0 == page.value("document.querySelectorAll('img, iframe, object, form').length")
        attributes = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
        assert [] == [each for each in page.value(attributes) if each.startswith("on")]
        links = "[...document.querySelectorAll('a')].map((a) => a.href.toString())"
        for link in page.value(links):
            assert "javascript" not in str(link)
    page.open(f"{site}runs/hostile.html")
    text = page.value("document.body.textContent")
    for name in HOSTILE:
        assert name.replace("\u202e", r"\u202e") in text
    page.open(f"{site}compare.html#runs/hostile,runs/first")
    assert HOSTILE[0] in page.value("document.body.textContent")


def test_a_script_of_another_would_not_run(site: str, page: Page) -> None:
    """Even if a hole let one in, the content policy would not."""
    inner = "document.body.append(Object.assign(document.createElement('script'),"
    page.open(f"{site}index.html")
    page.value(f"{inner} {{textContent: 'document.documentElement.id = \"ran\"'}}))")
    assert "" == page.value("document.documentElement.id")
    assert len(page.complaints) == 1
    assert "Content Security Policy" in page.complaints.pop()


def test_runs_are_sorted_by_every_column(site: str, page: Page) -> None:
    """By a key of the keyboard, in both directions; what is not known comes last."""
    page.open(f"{site}index.html")
    heads = page.value("[...document.querySelectorAll('#all th button')].map((b) => b.textContent)")
    assert ["run", "kind", "state", "date", "duration", "input", "holds", "score"] == heads
    shown = page.value(NAMES)
    for column, name in enumerate(heads):
        for _ in range(2):
            page.value(f"document.querySelectorAll('#all th button')[{column}].focus()")
            page.press("Enter")
            (head,) = page.value(
                "[...document.querySelectorAll('#all th[aria-sort]')].map((h) => h.textContent)"
            )
            assert name == head
            assert sorted(shown) == sorted(page.value(NAMES))
    scores = f"{TABLE}.map((row) => row.cells[8].textContent.slice(0, 5))"
    page.value("document.querySelectorAll('#all th button')[7].focus()")
    page.press("Enter")
    known = [each for each in page.value(scores) if each]
    assert ["0.900", "0.750", "0.750"] == known == page.value(scores)[:3]
    page.press("Enter")
    assert ["0.750", "0.750", "0.900"] == page.value(scores)[:3]


def test_runs_are_filtered_by_words(site: str, page: Page) -> None:
    """All of the words have to be in a row; how many are left is said."""
    page.open(f"{site}index.html")
    page.value("document.getElementById('filter').value = 'Training FIRST'")
    page.value("document.getElementById('filter').dispatchEvent(new Event('input'))")
    assert ["first"] == page.value(NAMES)
    assert page.value("document.getElementById('shown').textContent").startswith("1 of ")


def test_picked_runs_are_compared_with_the_keyboard_alone(site: str, page: Page) -> None:
    """From the first page by Tab, Space and Enter to what differs and the overlaid curves."""
    page.open(f"{site}index.html")
    boxes = f"{TABLE}.find((row) => row.textContent.startsWith('%s')).querySelector('input')"
    for name in ("first", "second"):
        page.value(f"{boxes % name}.focus()")
        page.press(" ")
    assert "Compare 2 runs" == page.value("document.getElementById('compare').textContent")
    page.value("document.getElementById('filter').focus()")
    page.press("Tab")
    assert "compare" == page.value("document.activeElement.id")
    page.press("Enter")
    page.wait_for_load()
    cells = "[...document.querySelectorAll('.differences tbody tr')].map((r) => r.textContent)"
    assert {"recipe: seed07", "recipe: seed70"} & set(page.value(cells))
    assert not any(each.startswith("recipe: epochs") for each in page.value(cells))
    titles = page.value("[...document.querySelectorAll('h3')].map((h) => h.textContent)")
    assert sorted({key for each in HISTORY for key in each} - {"epoch"}) == sorted(titles)
    assert 4 == page.value("document.querySelectorAll('polyline').length")


def test_higher_is_higher_in_overlaid_curves(site: str, page: Page) -> None:
    """Later is to the right, and each run has its colour."""
    page.open(f"{site}compare.html#runs/first,runs/hostile")
    picked = (
        "[...document.querySelectorAll('figure')].find((f) => f.textContent.startsWith('loss'))"
    )
    lines = page.value(
        f"[...{picked}.querySelectorAll('polyline')].map((l) => [l.getAttribute('stroke'),"
        " l.getAttribute('points')])"
    )
    assert 2 == len({colour for colour, _ in lines})
    first, hostile = [[tuple(map(float, p.split(","))) for p in each.split()] for _, each in lines]
    assert first[0][0] < first[1][0]
    assert first[0][1] < first[1][1]  # the loss falls, and y counts from above
    assert hostile[1][1] < first[0][1]  # 8 is above 2


@pytest.mark.parametrize("epoch", ["0", "7", "-1e17", "1e17", "1e300"])
def test_an_epoch_of_any_size_has_an_axis(site: str, page: Page, epoch: str) -> None:
    """Of a history that was made up too: the page of all picked runs would hang."""
    page.open(f"{site}compare.html")
    ticks = page.value(f"axis([{epoch}], 58, 426, true).ticks")
    assert 1 <= len(ticks) <= 12


@pytest.mark.parametrize("dark", [False, True])
def test_all_pages_fit_a_phone(site: str, page: Page, dark: bool) -> None:
    """At 360 pixels nothing makes a page wider than the screen, and no text is tiny."""
    page.show(360, dark=dark)
    for address in everywhere(site):
        page.open(address)
        assert 360 >= page.value("document.documentElement.scrollWidth"), address
        small = "[...document.querySelectorAll('main *')].filter((e) => !e.closest('svg') &&"
        small += " parseFloat(getComputedStyle(e).fontSize) < 11).length"
        assert 0 == page.value(small)


def luminance(colour: str) -> float:
    """Of a colour as a browser computes it, by WCAG 2."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_contrast(site: str, page: Page, dark: bool) -> None:
    """At least 4.5 to the ground, in both schemes, and the schemes differ."""
    page.show(1280, dark=dark)
    page.open(f"{site}runs/first.html")
    paper = luminance(page.value("getComputedStyle(document.body).backgroundColor"))
    assert dark == (paper < 0.1)
    for name in ("body", "dt", "a", ".quiet", "h2"):
        ink = luminance(page.value(f"getComputedStyle(document.querySelector('{name}')).color"))
        low, high = sorted((ink, paper))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_a_run_shows_what_it_is(site: str, page: Page) -> None:
    """Settings, inputs, scores with chance, curves, TensorBoard's folder and its lineage."""
    page.open(f"{site}runs/first.html")
    heads = page.value("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    shown = ["Inputs", "Scores", "Curves", "Recipe", "Counts", "TensorBoard", "Lineage"]
    assert shown == [each for each in heads if each in shown]
    text = page.value("document.body.textContent")
    for told in ("model.py:build", "0.7500", "chance", "as it was", "tensorboard --logdir /"):
        assert told in text
    page.value("document.querySelector('.lineage a[href*=mfcc]').focus()")
    page.press("Enter")
    page.wait_for_load()
    assert page.value("location.href").endswith("features/mfcc.html")


def test_features_and_shards_have_their_own_sections(site: str, page: Page) -> None:
    """Labels, refusals and a picture of features; the balance of shards."""
    page.open(f"{site}features/mfcc.html")
    text = page.value("document.body.textContent")
    for told in ("Labels and groups", "glad/1.wav", "no samples", "counted in all 1 windows"):
        assert told in text
    assert 1 == page.value("document.querySelectorAll('.pictures svg').length")
    page.open(f"{site}shards/demo.html")
    assert "requested" in page.value("document.body.textContent")


def test_the_pages_need_no_other_file(site: str) -> None:
    """Neither a style sheet nor a script beside them, and the policy allows only our own bytes."""
    folder = Path(site.removeprefix("file://"))
    assert {".html", ".json"} == {path.suffix for path in folder.rglob("*") if path.is_file()}
    for path in folder.rglob("*.html"):
        text = path.read_text()
        assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in text
        assert "unsafe" not in text.partition("<title>")[0]
        assert [] == re.findall(r"(?:src|srcset)=\"", text)
    whole = re.search(
        r'<script id="runs"[^>]*>(.*?)</script>', (folder / "compare.html").read_text()
    )
    assert whole
    assert json.loads(whole[1])["runs"]
