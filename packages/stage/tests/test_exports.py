from __future__ import annotations

import subprocess
import sys

import audioloom_stage
import pytest


def test_every_public_name_is_there() -> None:
    """The list, the late imports and the modules agree."""
    for name in audioloom_stage.__all__:
        assert getattr(audioloom_stage, name) is not None
    assert len(set(audioloom_stage.__all__)) == len(audioloom_stage.__all__)


def test_a_name_that_is_not_there_is_said() -> None:
    """As any module would."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        audioloom_stage.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import audioloom_stage", {"typer", "pydantic", "structlog"}),
        ("from audioloom_stage import BadData", {"typer", "pydantic", "structlog"}),
        ("from audioloom_stage import configure_logs", {"typer", "pydantic"}),
        ("from audioloom_stage import StageApp, Settings, command", {"structlog", "rich"}),
    ],
)
def test_a_name_costs_what_it_needs(code: str, absent: set[str]) -> None:
    """A Spark task that raises BadData does not pay for a command line."""
    program = f"import sys\n{code}\nprint(sorted({absent!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[]\n" == done.stdout


def test_star_imports_give_functions_and_not_modules() -> None:
    """A function and a module of one name would depend on what was imported first."""
    names: dict[str, object] = {}
    exec("from audioloom_stage import *", names)  # noqa: S102
    modules = [name for name in audioloom_stage.__all__ if type(names[name]).__name__ == "module"]
    assert [] == modules
