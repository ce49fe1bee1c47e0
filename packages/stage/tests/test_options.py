from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from audioloom_stage._options import Option, options, prefix
from audioloom_stage.settings import Flag, Positional, Secret, Settings
from audioloom_stage.units import Duration, Size
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def option(kind: Any, default: Any = ...) -> Option:
    model = create_model("Made", __base__=Settings, field_name=(kind, default))
    (made,) = options(model, "yarn-launcher")
    return made


class Inner(BaseModel):
    x: int = 1


@pytest.mark.parametrize(
    "kind",
    [
        Inner,
        list[Inner],
        list[list[str]],
        dict[str, list[str]],
        Inner | None,
        int | list[str],
        Annotated[bool, Positional()],
        Annotated[dict[str, str], Positional()],
        Annotated[int, Field(validation_alias="other")],
    ],
)
def test_what_cannot_be_written_on_a_command_line_is_refused(kind: Any) -> None:
    """A mistake in a settings model shows when the program starts, not when it is used."""
    with pytest.raises(TypeError, match=r"field_name: a (setting|positional) is"):
        option(kind)


@pytest.mark.parametrize("config", [{}, {"frozen": True}, {"extra": "forbid"}])
def test_a_model_that_is_open_or_changeable_is_refused(config: Any) -> None:
    """Derive Settings, and both are right."""
    open_model = type("Open", (BaseModel,), {"model_config": config, "__annotations__": {}})
    with pytest.raises(TypeError, match="Open must be frozen and forbid extra fields"):
        options(open_model, "toy")


def test_several_places_come_last() -> None:
    """Nothing after them could be told from them."""

    class Wrong(Settings):
        many: Annotated[tuple[str, ...], Positional()]
        one: Annotated[str, Positional()]

    with pytest.raises(TypeError, match="must be the last"):
        options(Wrong, "toy")


@pytest.mark.parametrize(
    ("kind", "shape", "metavar"),
    [
        (int, "one", "INT"),
        (float, "one", "NUMBER"),
        (str, "one", "TEXT"),
        (Path, "one", "PATH"),
        (bool, "switch", "BOOL"),
        (bool | None, "switch", "BOOL"),
        (int | None, "one", "INT"),
        (Annotated[int, Field(ge=1)], "one", "INT"),
        (Literal["auto"] | int, "one", "auto|INT"),
        (Literal["a", "b"], "one", "a|b"),
        (Level, "one", "1|2"),
        (list[int], "many", "INT"),
        (tuple[str, ...] | None, "many", "TEXT"),
        (Sequence[Literal["a", "b"]], "many", "a|b"),
        (dict[str, str], "pairs", "KEY=VALUE"),
        (Mapping[str, int | str], "pairs", "KEY=VALUE"),
        (Annotated[str, Positional("THING")], "one", "THING"),
        (Annotated[str, Positional()], "one", "FIELD_NAME"),
        (Secret | None, "one", "SECRET"),
        (Size, "one", "SIZE"),
        (Duration | None, "one", "DURATION"),
    ],
)
def test_the_shape_of_an_annotation(kind: Any, shape: str, metavar: str) -> None:
    """What pydantic will accept decides how it is written."""
    assert (shape, metavar) == (option(kind).shape, option(kind).metavar)


def test_the_names_of_a_setting() -> None:
    """One field, three names, and the dash of a stage is an underscore in variables."""
    made = option(Annotated[int, Flag("-f")])
    assert ("--field-name", "AUDIOLOOM_YARN_LAUNCHER_FIELD_NAME") == (made.flag, made.variable)
    assert ("-f", "AUDIOLOOM_YARN_LAUNCHER_") == (made.short, prefix("yarn-launcher"))


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        (int, 24, "24"),
        (bool, True, "on"),
        (bool, False, "off"),
        (tuple[str, ...], ("a", "b"), "a b"),
        (dict[str, int], {"a": 1}, "a=1"),
        (Level, Level.HIGH, "2"),
        (str | None, None, ""),
        (int, ..., ""),
        (list[str], Field(default_factory=lambda: ["x"]), "x"),
        (Secret, Secret("sesame"), ""),
        (Size, Size(3 << 30), "3GiB"),
        (Size, Size(1536 << 20), "1536MiB"),
        (Size, Size(1001), "1001"),
        (Size, Size(0), "0"),
        (Duration | None, Duration(86400), "24h"),
    ],
)
def test_the_default_as_the_help_shows_it(kind: Any, default: Any, shown: str) -> None:
    """People read it, so it is written the way they would give it."""
    assert shown == option(kind, default).default


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "24", "24"),  # pydantic makes the number
        (Literal[1, 2], "2", 2),
        (Level, "2", Level.HIGH),
        (tuple[str, ...], "a, b,,c", ["a", "b", "c"]),
        (tuple[str, ...], '["a,b", "c"]', ["a,b", "c"]),
        (tuple[str, ...], "[ab", ["[ab"]),
        (list[Literal[1, 2]], "1,2", [1, 2]),
        (dict[str, str], "a=1,b=x=y", {"a": "1", "b": "x=y"}),
        (dict[str, int | str], "a=1,b=x,c=", {"a": 1, "b": "x", "c": ""}),
        (dict[str, Any], '{"a": {"b": [1]}}', {"a": {"b": [1]}}),
        (dict[str, bool | str], "a=true,b=null", {"a": True, "b": "null"}),
    ],
)
def test_the_text_of_a_variable(kind: Any, text: str, value: object) -> None:
    """A variable has one text where the command line has many words."""
    assert value == option(kind).parse(text)


@pytest.mark.parametrize("words", [["a"], ["=1"], ["a=1", "a=2"]])
def test_pairs_that_are_none_are_refused(words: list[str]) -> None:
    """Which of two values was meant is not ours to guess."""
    with pytest.raises(ValueError, match=r"expected key=value|given twice"):
        option(dict[str, str]).gather(words)


@given(st.dictionaries(st.sampled_from(["path", "label"]), st.text("abc,=."), min_size=1))
def test_pairs_of_known_keys_may_share_a_flag(pairs: dict[str, str]) -> None:
    """A comma begins the next pair only before a key: columns of tables may contain commas."""
    known = option(dict[Literal["path", "label"], str])
    words = [f"{key}={value}" for key, value in pairs.items()]
    assert pairs == known.gather(words)
    assert pairs == known.gather([",".join(words)])
    assert pairs == known.gather([", ".join(words)])
    assert pairs == known.parse(",".join(words))


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: "=" not in key), st.text()))
def test_text_pairs_come_back_as_they_went(pairs: dict[str, str]) -> None:
    """Whatever the value, equals signs and numbers included."""
    words = [f"{key}={value}" for key, value in pairs.items()]
    assert pairs == option(dict[str, str]).gather(words)
