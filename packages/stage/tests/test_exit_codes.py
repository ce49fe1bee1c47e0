from __future__ import annotations

import errno
import inspect
from types import ModuleType

import audioloom_manifest.errors
import audioloom_stage.errors
import audioloom_storage.errors
import pytest
from audioloom_stage.errors import BadData
from audioloom_stage.exit_codes import TABLE, ExitCode, exit_code
from pydantic import TypeAdapter, ValidationError


def errors_of(module: ModuleType) -> list[type[Exception]]:
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == module.__name__
    ]


def test_what_nobody_foresaw_is_our_bug() -> None:
    """An error outside the table must not look like the user's fault."""
    assert ExitCode.OUR_BUG == exit_code(KeyError("x"))


@pytest.mark.parametrize(
    "kind",
    errors_of(audioloom_storage.errors)
    + errors_of(audioloom_manifest.errors)
    + errors_of(audioloom_stage.errors),
)
def test_no_error_of_our_packages_is_called_a_bug(kind: type[Exception]) -> None:
    """A new error class in storage or manifest has a code, by name or through its parent."""
    is_raised = kind is not audioloom_stage.errors.StageError  # only its subclasses are
    assert is_raised == (ExitCode.OUR_BUG != exit_code(kind.__new__(kind)))


def test_every_name_in_the_table_exists() -> None:
    """A renamed class must not leave a dead entry behind."""
    for name in TABLE:
        package, _, kind = name.partition(".")
        if package.startswith("audioloom_"):
            errors = __import__(f"{package}.errors", fromlist=["_"])
            assert issubclass(getattr(errors, kind), Exception), name


def test_a_stages_own_error_has_its_parents_code() -> None:
    """A stage adds no entry to the table."""

    class TruncatedRecording(BadData):
        pass

    assert ExitCode.BAD_DATA == exit_code(TruncatedRecording())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (MemoryError(), 75),
        (OSError(errno.ENOSPC, "full"), 75),
        (OSError(errno.EDQUOT, "quota"), 75),
        (OSError(errno.EIO, "io"), 69),
        (FileNotFoundError(), 66),
        (PermissionError(), 77),
        (ConnectionRefusedError(), 69),
        (ConnectionResetError(), 75),
        (TimeoutError(), 75),
        (audioloom_storage.errors.NoSpace("full"), 75),
        (audioloom_storage.errors.UnknownOutcome("gone"), 74),
        (audioloom_storage.errors.UnsupportedScheme("s3"), 2),
        (audioloom_storage.errors.NotConfigured("no HADOOP_CONF_DIR"), 78),
    ],
)
def test_errors_of_python_and_storage(error: BaseException, code: int) -> None:
    """The codes that callers act on: 75 is tried again, 66 is not."""
    assert code == exit_code(error)


def test_data_that_pydantic_refuses_is_bad_data() -> None:
    """Outside of settings, what fails validation came from outside."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("x")
    assert ExitCode.BAD_DATA == exit_code(caught.value)


def test_every_code_has_a_meaning() -> None:
    """The help page lists them all."""
    assert all(code.meaning for code in ExitCode)
