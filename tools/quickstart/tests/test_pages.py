"""The pages at the root and of the stages: what they link to and name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*/*/README.md"),
        *ROOT.glob("shared/**/*.md"),
        *ROOT.glob("integration_tests/*.md"),
    ]
)
STATUS = r"(Accepted|Replaced by \d+|Suspended), \d{4}-\d{2}-\d{2}\."
MOST_LINES, MOST_WORDS, LEAST_PLACES = 120, 40, 20


def rows(page: str) -> list[list[str]]:
    """The cells of the rows of the tables of a page, without their heads."""
    lines = [line for line in (ROOT / page).read_text("utf-8").splitlines() if line[:2] == "| "]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    """Each link without a scheme, and the heading that it names."""
    for text in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, heading = text.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), text
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, text


def test_tests_that_a_decision_names_are_there() -> None:
    """Each is a file or a function of the tests, as in the security review."""
    tests = [*ROOT.glob("*/*/tests/**/test_*.py"), *ROOT.glob("integration_tests/**/test_*.py")]
    known = {test.stem for test in tests}
    known |= {name for test in tests for name in re.findall(r"def (test_\w+)", test.read_text())}
    for page in ROOT.glob("shared/decisions/*.md"):
        named = set(re.findall(r"`(test_\w+)`", page.read_text("utf-8")))
        assert named <= known, f"{page.name}: {sorted(named - known)}"


def test_the_front_page_is_short() -> None:
    """It is read in two minutes."""
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= MOST_LINES


def test_the_glossary_is_short_and_sorted() -> None:
    """Each word stands there once, in the order of the alphabet."""
    words = [cells[0] for cells in rows("GLOSSARY.md")]
    assert len(words) <= MOST_WORDS
    assert sorted(set(words)) == words


def test_each_place_of_the_contributors_table_exists() -> None:
    """A newcomer who looks in Y finds it."""
    places = [cells[1] for cells in rows("CONTRIBUTING.md")]
    assert len(places) >= LEAST_PLACES
    named = [path for cell in places for path in re.findall(r"`([^`]+)`", cell)]
    assert len(named) >= len(places)
    assert [] == [path for path in named if not (ROOT / path).exists()]


def test_each_decision_has_a_number_a_status_and_a_date() -> None:
    """The number is that of the file, and no two pages share one."""
    pages = sorted((ROOT / "shared/decisions").glob("*.md"))
    assert len({page.name[:4] for page in pages}) == len(pages)
    for page in pages:
        title, status = page.read_text("utf-8").split("\n")[:3:2]
        assert title.startswith(f"# {int(page.name[:4])}. "), page.name
        assert re.match(STATUS, status), page.name
