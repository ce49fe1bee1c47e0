from __future__ import annotations

import pytest
from audioloom_trainer.settings import GcSettings, RunSettings, parse_bytes
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5GB", "GiB", "12 apples", "1e3", "9" * 30])
def test_no_size_is_refused(text: str) -> None:
    """With what one looks like."""
    with pytest.raises(ValueError, match="a size like 512MiB"):
        parse_bytes(text)


@given(st.integers(1, 10**12), st.sampled_from(["", "B", "kB", "KiB", "mb", "GiB", "TB"]))
def test_a_size_is_number_times_unit(number: int, unit: str) -> None:
    """Decimal and binary units, in any case, with a space or not."""
    factor = parse_bytes(f"1{unit}")
    assert number * factor == parse_bytes(f"{number}{unit}") == parse_bytes(f" {number} {unit} ")


def test_sizes_may_be_numbers_in_a_file() -> None:
    """TOML has numbers; a flag is text."""
    assert "65536" == RunSettings(shards="x", cache_bytes=65536).cache_bytes  # type: ignore[arg-type]


def test_delete_and_dry_run_exclude_each_other() -> None:
    """Both is a mistake, so neither is done."""
    with pytest.raises(ValidationError, match="exclude each other"):
        GcSettings(root="x", delete=True, dry_run=True)


def test_settings_are_frozen_and_know_their_fields() -> None:
    """A misspelt one is no setting."""
    with pytest.raises(ValidationError, match="epoch"):
        RunSettings(shards="x", epoch=3)  # type: ignore[call-arg]
