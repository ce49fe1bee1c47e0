from __future__ import annotations

import json
from typing import Any

import pytest
from audioloom_stage.settings import Settings
from audioloom_stage.units import Duration, Size
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError


class Limits(Settings):
    memory: Size = Field(Size(1 << 30), gt=0)
    wait: Duration | None = Field(None, ge=0, le=86400)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * 10**9),
        ("8GiB", 8 << 30),
        ("20 GiB", 20 << 30),
        ("20gib", 20 << 30),
        ("512 kB", 512_000),
        ("1.5GB", 1_500_000_000),
        ("65536", 65536),
        ("65536B", 65536),
        (65536, 65536),
        ("2TiB", 2 << 40),
        ("999999999999999", 999999999999999),
    ],
)
def test_a_size_is_written_in_many_ways(text: object, size: int) -> None:
    """As people write it, and as a number of a TOML file."""
    assert size == Limits.model_validate({"memory": text}).memory


@pytest.mark.parametrize("text", ["8G", "3g", "", "GB", "-1GB", "1e9", "8 GB x", True, None, "1EB"])
def test_what_is_no_size_is_refused(text: object) -> None:
    """A bare letter counts in thousands to some programs, and in 1024 to others."""
    with pytest.raises(ValidationError, match="should be a size such as 8GB, 8GiB or 65536"):
        Limits.model_validate({"memory": text})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("90", 90), (90, 90), ("0s", 0), ("30m", 1800), ("24h", 86400), ("0.5 h", 1800)],
)
def test_a_duration_is_written_in_many_ways(text: object, seconds: float) -> None:
    """A number alone counts seconds."""
    assert seconds == Limits.model_validate({"wait": text}).wait


@pytest.mark.parametrize("text", ["soon", "", "-1s", "1w", "1h30m", True, float("nan")])
def test_what_is_no_duration_is_refused(text: object) -> None:
    """In words that tell what it should be."""
    with pytest.raises(ValidationError, match="should be a duration such as 90s, 30m, 24h or 7d"):
        Limits.model_validate({"wait": text})


@pytest.mark.parametrize("given", [{"memory": "0GB"}, {"wait": "2d"}])
def test_bounds_hold_for_both(given: dict[str, Any]) -> None:
    """As for any number."""
    with pytest.raises(ValidationError, match=r"greater than 0|less than or equal to 86400"):
        Limits.model_validate(given)


def test_both_are_plain_numbers_in_json() -> None:
    """A manifest holds bytes and seconds."""
    limits = Limits.model_validate({"memory": "8GiB", "wait": "30m"})
    assert {"memory": 8 << 30, "wait": 1800.0} == json.loads(limits.model_dump_json())
    assert f"{limits.memory}" == str(8 << 30)


@given(st.integers(0, 10**15))
def test_a_size_is_read_as_it_is_shown(size: int) -> None:
    """The help shows defaults that can be pasted."""
    assert size == Size.parse(Size(size).text)


@given(st.integers(0, 10**6))
def test_a_duration_is_read_as_it_is_shown(seconds: int) -> None:
    """The help shows defaults that can be pasted."""
    assert seconds == Duration.parse(Duration(seconds).text)
