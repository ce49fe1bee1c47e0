from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

from audioloom_runs.pages.markup import Markup, data, element, page
from hypothesis import given
from hypothesis import strategies as st


class Read(HTMLParser):
    """What a browser would see: elements with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
def test_text_stays_text(inside: str, attribute: str) -> None:
    """Whatever it is: one element, one attribute, and the text that can be seen."""
    read = Read(element("b", inside, title=attribute))
    assert ["b"] == [name for name, _ in read.elements]
    assert ["title"] == [name for name, _ in read.elements[0][1]]
    if inside.isprintable():
        assert inside == read.text
    if attribute.isprintable():
        assert attribute == read.elements[0][1][0][1]


def test_what_cannot_be_seen_is_marked() -> None:
    """The direction of reading is not turned, and no byte 0 gets into a file."""
    assert r"<i>a\u202eb\x00c\ud800</i>" == element("i", "a\u202eb\0c\ud800")


def test_elements_go_into_elements() -> None:
    """They are escaped once, when they are made."""
    assert '<p class="x"><b>&lt;</b></p>' == element("p", element("b", "<"), None, class_="x")
    assert "<p>&lt;b&gt;</p>" == element("p", "<b>")


def test_a_page_forbids_all_but_its_own_style() -> None:
    """No script, no picture, no form, nothing from elsewhere."""
    whole = page("<title>", "p { color: red }", element("p", "text"))
    metas = [dict(attributes) for name, attributes in Read(whole).elements if name == "meta"]
    attributes = next(each for each in metas if "http-equiv" in each)
    policy = attributes["content"] or ""
    assert "Content-Security-Policy" == attributes["http-equiv"]
    assert ["default-src 'none'", "base-uri 'none'", "form-action 'none'"] == [
        part for part in policy.split("; ") if not part.startswith("style-src 'sha256-")
    ]
    assert isinstance(whole, Markup)


def test_a_page_allows_its_own_script_alone() -> None:
    """By its digest; without one no script at all."""
    script = "document.title = '<'"
    whole = page("title", "", script=script)
    assert f"<script>{script}</script></body>" in whole
    assert 1 == len(re.findall(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", unescape(whole)))
    assert "script" not in page("title", "")


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_value_ends_its_block_of_data(value: object) -> None:
    """Whatever it is, a script reads back the same."""
    block = data("runs", value)
    assert ["script"] == [name for name, _ in Read(block).elements]
    text = block.removeprefix('<script id="runs" type="application/json">')
    assert value == json.loads(text.removesuffix("</script>"))
