from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("errors", {"typer", "pydantic", "structlog"}),
        ("exit_codes", {"typer", "pydantic", "structlog"}),
        ("logs", {"typer", "pydantic"}),
        ("app", {"pydantic", "structlog", "rich"}),
        ("settings", {"structlog", "rich"}),
    ],
)
def test_a_module_costs_what_it_needs(module: str, absent: set[str]) -> None:
    """A Spark task that raises BadData does not pay for a command line."""
    program = f"import sys, audioloom_stage.{module}\nprint(sorted({absent!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout
