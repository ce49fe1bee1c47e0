"""What of a text from outside reaches a terminal."""

from __future__ import annotations

import json

import pytest
from audioloom_stage.escapes import printable, printable_json, safe_text
from hypothesis import given
from hypothesis import strategies as st


@given(st.text())
def test_nothing_printable_is_obeyed(text: str) -> None:
    """No control character is left, but newline and tab where there may be several lines."""
    assert printable(text).isprintable()
    assert all(c.isprintable() or c in "\n\t" for c in printable(text, lines=True))


@given(st.text())
def test_what_is_escaped_stays(text: str) -> None:
    """A backslash is printable."""
    assert printable(text) == printable(printable(text))


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_ordinary_text_stays(text: str) -> None:
    """Of any language."""
    assert text == printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("a\nerror: b\r\t", r"a\nerror: b\r\t"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\udcff\ud800", r"\udcff\ud800"),
        ("\u2028\x85", r"\u2028\x85"),
    ],
)
def test_each_kind_of_control_is_told_in_ascii(text: str, shown: str) -> None:
    """C0, C1, DEL, directions, surrogates, ends of lines."""
    assert shown == printable(text)


def test_a_text_from_outside_is_shown_without_both() -> None:
    """Neither a control nor a secret, of any object."""
    assert r"\x1b[2J --token **********" == safe_text(ValueError("\x1b[2J --token hunter2"))


@given(st.text())
def test_json_that_was_made_printable_says_the_same(text: str) -> None:
    """As keys and as values, and no terminal obeys it."""
    shown = printable_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert shown.isprintable()
    assert {text: [text]} == json.loads(shown)


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_json_of_ordinary_text_stays(text: str) -> None:
    """Of any language."""
    written = json.dumps(text, ensure_ascii=False)
    assert written == printable_json(written)


def test_each_kind_of_control_has_its_escape_in_json() -> None:
    """C1, DEL, directions, ends of lines, surrogates, and a pair for what lies above U+FFFF."""
    shown = printable_json('"\x9b\x7f\u202e\u2028\udcff\U000e0001"')
    assert r'"\u009b\u007f\u202e\u2028\udcff\udb40\udc01"' == shown
