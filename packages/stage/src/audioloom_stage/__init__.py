"""What every audioloom stage has: a command line, settings, logs, exit codes, progress, results.

Names are imported when they are first used: a Spark task that logs pays for structlog and not for
typer, and `--help` pays for typer and not for structlog.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from audioloom_stage.errors import (
    BadConfiguration,
    BadData,
    InputMissing,
    NameTaken,
    NoPermission,
    OutcomeUnknown,
    ServiceDown,
    StageError,
    TryAgain,
    Usage,
)
from audioloom_stage.exit_codes import ExitCode, exit_code

if TYPE_CHECKING:
    from audioloom_stage.app import StageApp, command, stage_app
    from audioloom_stage.bar import Progress, progress
    from audioloom_stage.logs import LogSettings, bind, bound, configure_logs, current_logs
    from audioloom_stage.result import JSON, Result, result_columns
    from audioloom_stage.running import run_app
    from audioloom_stage.settings import Flag, Positional, Secret, Settings

__all__ = [
    "JSON",
    "BadConfiguration",
    "BadData",
    "ExitCode",
    "Flag",
    "InputMissing",
    "LogSettings",
    "NameTaken",
    "NoPermission",
    "OutcomeUnknown",
    "Positional",
    "Progress",
    "Result",
    "Secret",
    "ServiceDown",
    "Settings",
    "StageApp",
    "StageError",
    "TryAgain",
    "Usage",
    "bind",
    "bound",
    "command",
    "configure_logs",
    "current_logs",
    "exit_code",
    "progress",
    "result_columns",
    "run_app",
    "stage_app",
]

_LATE = {
    "app": ("StageApp", "command", "stage_app"),
    "bar": ("Progress", "progress"),
    "logs": ("LogSettings", "bind", "bound", "configure_logs", "current_logs"),
    "result": ("JSON", "Result", "result_columns"),
    "running": ("run_app",),
    "settings": ("Flag", "Positional", "Secret", "Settings"),
}
_HOME = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
