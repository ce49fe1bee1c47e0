"""What of a text from outside reaches a terminal."""

from __future__ import annotations

import pytest
from audioloom_stage.escapes import printable, safe_text
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
