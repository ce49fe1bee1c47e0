from __future__ import annotations

import pytest
from audioloom_featurizer.errors import BadLabels, InvalidOption
from audioloom_featurizer.inventory.labels.path_pattern import (
    compile_pattern,
    labels_from_path,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "text", ["(?P<label>", "no group at all", "(?P<speaker>.*)", "(?P<label>.)(?P<other>.)"]
)
def test_a_pattern_that_says_nothing_we_know_is_refused(text: str) -> None:
    """The error names the pattern and what was expected of it."""
    with pytest.raises(InvalidOption, match="label") as caught:
        compile_pattern(text)
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["ten", "nan", "inf", "1e999"])
def test_a_target_must_be_a_finite_number(text: str) -> None:
    """A target that is none is refused with the path, never guessed at."""
    with pytest.raises(BadLabels, match=f"x/{text}.wav"):
        labels_from_path(f"x/{text}.wav", compile_pattern(r"x/(?P<target>.*)\.wav"))


def test_the_whole_path_must_match() -> None:
    """A pattern that fits only the beginning does not fit."""
    pattern = compile_pattern("(?P<label>[a-z]+)/[^/]+")
    assert labels_from_path("a/b/c.wav", pattern) is None
    assert {"label": "a"} == labels_from_path("a/c.wav", pattern)


def test_what_caught_nothing_says_nothing() -> None:
    """An empty catch and a group that took no part are both None."""
    pattern = compile_pattern("(?P<label>[a-z]*)(?:-(?P<group>[0-9]+))?(?:=(?P<target>.*))?")
    assert {"label": None, "group": None, "target": None} == labels_from_path("", pattern)
    assert {"label": "a", "group": "7", "target": 0.5} == labels_from_path("a-7=0.5", pattern)


@given(st.text(st.characters(codec="utf-8", exclude_characters="/")), st.text("abc"))
def test_any_folder_name_is_a_label(folder: str, rest: str) -> None:
    """Labels are taken as they are, in whatever script."""
    pattern = compile_pattern("(?s)(?P<label>[^/]*)/.*")
    assert {"label": folder or None} == labels_from_path(f"{folder}/{rest}", pattern)
