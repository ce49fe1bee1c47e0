from __future__ import annotations

import pytest
from audioloom_trainer.settings import RunSettings
from pydantic import ValidationError


def test_sizes_may_be_numbers_in_a_file() -> None:
    """TOML has numbers; a flag is text."""
    for size in (65536, "65536", "64KiB"):
        settings = RunSettings.model_validate({"shards": "x", "cache_bytes": size})
        assert settings.cache_bytes == 65536


def test_settings_are_frozen_and_know_their_fields() -> None:
    """A misspelt one is no setting."""
    with pytest.raises(ValidationError, match="epoch"):
        RunSettings(shards="x", epoch=3)  # type: ignore[call-arg]
