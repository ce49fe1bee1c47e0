"""Command line, settings, logs, exit codes, progress and results of every audioloom stage.

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
    from audioloom_stage._process_exit import as_program
    from audioloom_stage.app import StageApp, command
    from audioloom_stage.escapes import printable, safe_text
    from audioloom_stage.logs import LogSettings, bind, configure_logs, current_logs
    from audioloom_stage.program import run_app
    from audioloom_stage.progress_bar import Progress, progress
    from audioloom_stage.redaction import (
        MASK,
        is_secret_name,
        redact,
        redact_values,
        redact_words,
        remember,
    )
    from audioloom_stage.result import JSON, Result, result_columns
    from audioloom_stage.settings import Flag, Positional, Secret, Settings
    from audioloom_stage.units import Duration, Size

__all__ = [
    "JSON",
    "MASK",
    "BadConfiguration",
    "BadData",
    "Duration",
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
    "Size",
    "StageApp",
    "StageError",
    "TryAgain",
    "Usage",
    "as_program",
    "bind",
    "command",
    "configure_logs",
    "current_logs",
    "exit_code",
    "is_secret_name",
    "printable",
    "progress",
    "redact",
    "redact_values",
    "redact_words",
    "remember",
    "result_columns",
    "run_app",
    "safe_text",
]

_LATE = {
    "_process_exit": ("as_program",),
    "app": ("StageApp", "command"),
    "progress_bar": ("Progress", "progress"),
    "escapes": ("printable", "safe_text"),
    "logs": ("LogSettings", "bind", "configure_logs", "current_logs"),
    "redaction": (
        "MASK",
        "is_secret_name",
        "redact",
        "redact_values",
        "redact_words",
        "remember",
    ),
    "result": ("JSON", "Result", "result_columns"),
    "program": ("run_app",),
    "settings": ("Flag", "Positional", "Secret", "Settings"),
    "units": ("Duration", "Size"),
}
_HOME = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
