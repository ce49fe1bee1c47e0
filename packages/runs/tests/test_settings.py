from __future__ import annotations

import subprocess
import sys

import pytest
from audioloom_manifest.envelope import NAME
from audioloom_runs.settings import GcSettings, RunName
from pydantic import TypeAdapter, ValidationError

HEAVY = {"audioloom_manifest", "audioloom_storage", "rich", "structlog"}


def test_the_rule_of_names_is_that_of_the_contract() -> None:
    """It stands twice, for a help page must not pay for the reading of manifests."""
    assert NAME == TypeAdapter(RunName).json_schema()["pattern"]


def test_settings_import_nothing_heavy() -> None:
    """They are imported for every help page."""
    program = f"import sys, audioloom_runs.settings; print(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout


def test_delete_and_dry_run_exclude_each_other() -> None:
    """Both is a mistake, so neither is done."""
    with pytest.raises(ValidationError, match="exclude each other"):
        GcSettings(root="x", delete=True, dry_run=True)


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("24h", 86400), ("0s", 0)])
def test_an_age_has_a_unit(text: str, seconds: int) -> None:
    """The same in every stage."""
    assert seconds == GcSettings.model_validate({"root": "x", "older_than": text}).older_than
