"""The one table from errors to exit codes (sysexits.h), for people and for supervisors.

Errors are looked up by name along their base classes, so nothing is imported for the table
and a subclass made in a stage is found through its parent.
"""

import errno
from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """The exit codes of the audioloom programs, each with its meaning."""

    meaning: str

    DONE = 0, "done"
    USAGE = 2, "wrong usage"
    BAD_DATA = 65, "bad data"
    INPUT_MISSING = 66, "input missing"
    SERVICE_DOWN = 69, "a service is down"
    OUR_BUG = 70, "our own bug"
    NAME_TAKEN = 73, "output exists with another recipe"
    OUTCOME_UNKNOWN = 74, "outcome unknown: look before running again"
    TRY_AGAIN = 75, "try again"
    NO_PERMISSION = 77, "no permission"
    CONFIGURATION = 78, "bad configuration"
    INTERRUPTED = 130, "interrupted"
    UNREAD = 141, "done, but nobody read the result"

    def __new__(cls, code: int, meaning: str) -> Self:
        """Give a code its meaning."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made


TABLE = {
    "audioloom_stage.Usage": ExitCode.USAGE,
    "audioloom_stage.BadData": ExitCode.BAD_DATA,
    "audioloom_stage.InputMissing": ExitCode.INPUT_MISSING,
    "audioloom_stage.ServiceDown": ExitCode.SERVICE_DOWN,
    "audioloom_stage.NameTaken": ExitCode.NAME_TAKEN,
    "audioloom_stage.OutcomeUnknown": ExitCode.OUTCOME_UNKNOWN,
    "audioloom_stage.TryAgain": ExitCode.TRY_AGAIN,
    "audioloom_stage.NoPermission": ExitCode.NO_PERMISSION,
    "audioloom_stage.BadConfiguration": ExitCode.CONFIGURATION,
    # Manifests
    "audioloom_manifest.MissingManifest": ExitCode.INPUT_MISSING,
    "audioloom_manifest.MissingFile": ExitCode.INPUT_MISSING,
    "audioloom_manifest.NameTaken": ExitCode.NAME_TAKEN,
    "audioloom_manifest.ManifestError": ExitCode.BAD_DATA,
    "audioloom_manifest.RecordError": ExitCode.BAD_DATA,
    # Storage
    "audioloom_storage.NotFound": ExitCode.INPUT_MISSING,
    "audioloom_storage.AlreadyExists": ExitCode.NAME_TAKEN,
    "audioloom_storage.PermissionDenied": ExitCode.NO_PERMISSION,
    "audioloom_storage.Unavailable": ExitCode.SERVICE_DOWN,
    "audioloom_storage.NotConfigured": ExitCode.CONFIGURATION,
    "audioloom_storage.NoSpace": ExitCode.TRY_AGAIN,
    "audioloom_storage.UnknownOutcome": ExitCode.OUTCOME_UNKNOWN,
    "audioloom_storage.UnsupportedScheme": ExitCode.USAGE,
    "audioloom_storage.UnsafePath": ExitCode.BAD_DATA,
    "audioloom_storage.StorageError": ExitCode.BAD_DATA,
    # Errors of libraries and of Python itself
    "pydantic_core.ValidationError": ExitCode.BAD_DATA,
    "builtins.KeyboardInterrupt": ExitCode.INTERRUPTED,
    "builtins.ImportError": ExitCode.CONFIGURATION,  # the same environment fails again
    "builtins.MemoryError": ExitCode.TRY_AGAIN,
    "builtins.FileNotFoundError": ExitCode.INPUT_MISSING,
    "builtins.PermissionError": ExitCode.NO_PERMISSION,
    "builtins.ConnectionRefusedError": ExitCode.SERVICE_DOWN,
    "builtins.ConnectionError": ExitCode.TRY_AGAIN,
    "builtins.TimeoutError": ExitCode.TRY_AGAIN,
    "builtins.IsADirectoryError": ExitCode.BAD_DATA,
    "builtins.NotADirectoryError": ExitCode.BAD_DATA,
    "builtins.OSError": ExitCode.SERVICE_DOWN,  # a failing disk or network is no bug of ours
}

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code that an error ends the program with.

    An error that the table does not know is our own bug and exits as one.
    """
    if isinstance(error, OSError) and error.errno in FULL:
        return ExitCode.TRY_AGAIN  # the user can make room, and the stage then resumes
    for kind in type(error).__mro__:
        package = kind.__module__.partition(".")[0]
        found = TABLE.get(f"{package}.{kind.__name__}")
        if found is not None:
            return found
    return ExitCode.OUR_BUG
