"""The result of a command, and the way it alone reaches stdout."""

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO, TypeAlias

from audioloom_stage.escapes import printable_json, safe_text
from audioloom_stage.exit_codes import MEANING, ExitCode
from audioloom_stage.redaction import redact_values

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

Write: TypeAlias = Callable[[str], None]

_columns: int | None = None  # of the terminal that results go to, while stdout is kept for them


@dataclass(frozen=True)
class Result:
    """What a command answers.

    Attributes:
        text: for people and shells; lines when they come one by one (a log that is followed).
        data: for programs, printed with `--json`.
        next: commands that are useful now, printed to stderr.
        exit_code: other than 0 when the answer itself is bad news, such as a failed check.
        problem: what the bad news is, in one sentence; by default what the exit code means.
    """

    text: str | Iterable[str]
    data: Mapping[str, JSON] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    exit_code: int = 0
    problem: str = ""

    @property
    def error(self) -> Mapping[str, JSON] | None:
        """The bad news as the JSON object tells it; None for good news."""
        return error_object(self.exit_code, self.problem) if self.exit_code else None


def emit(result: Result, write: Write, *, kind: str, as_json: bool) -> bool:
    """Write a result: its text, or with *as_json* one object on one line.

    What it shows comes from data, so it is made safe here, for every command: text and JSON are
    printable, each by its own escapes, and without secrets.

    Returns:
        Whether somebody read it. A reader of lines that has left (`… | head -1`) has what it
        wanted; one that had nothing yet, or a part of what is one piece, has not.
    """
    parts: Iterable[str]
    if as_json:
        data = redact_values(result.data)
        parts = [as_object(data, kind=kind, error=redact_values(result.error))]
    else:
        text = result.text
        whole = [text.removesuffix("\n")] if isinstance(text, str) else text
        parts = (safe_text(each, lines=True) for each in whole)
    read = False
    try:
        for part in parts:
            write(part + "\n")
            read = True
    except BrokenPipeError:
        return read
    return True


def emit_error(error: Mapping[str, JSON], write: Write, *, kind: str) -> None:
    """Write the JSON object of a command that failed; its exit code tells more than a reader."""
    with contextlib.suppress(OSError):
        write(as_object({}, kind=kind, error=redact_values(error)) + "\n")


def error_object(code: int, message: str = "", **parts: str) -> dict[str, JSON]:
    """Answer what the JSON object of a failed command has as its `error`.

    Args:
        code: the exit code; the class is its name. A code of another program has none of ours.
        message: one sentence; by default what the code means.
        parts: where, expected, found and hint, as far as they are known.
    """
    known = next((each for each in ExitCode if each == code), None)
    return {
        "class": known.name.lower() if known else "command_failed",
        "message": message or (MEANING[known] if known else f"exit code {code}"),
        **{part: parts.get(part) or None for part in ("where", "expected", "found", "hint")},
    }


def as_object(
    data: Mapping[str, JSON], *, kind: str, error: Mapping[str, JSON] | None = None
) -> str:
    """Answer the JSON object of a result: kind, version, ok, error, and the command's own fields.

    Raises:
        ValueError: a number that JSON has no word for, or a key that the envelope owns.
        TypeError: something that is not JSON.
    """
    envelope = {"kind": kind, "version": 1, "ok": error is None, "error": error}
    if taken := envelope.keys() & data.keys():
        raise ValueError(f"the envelope of a result owns {sorted(taken)}")
    return printable_json(json.dumps({**envelope, **data}, ensure_ascii=False, allow_nan=False))


def result_columns() -> int | None:
    """How wide the terminal is that the result is read on; None if nobody reads it there."""
    return _columns


@contextlib.contextmanager
def reserved_stdout() -> Iterator[Write]:
    """Keep stdout for the result: inside, whatever else writes to it lands on stderr.

    The descriptor itself is turned round, so that it holds for a JVM or any other child too,
    and children do not inherit the real one: none of them can keep a pipe open.
    """
    if _descriptor() != 1:  # captured by a test, or closed
        real = sys.stdout
        if real is None:
            _point_at_stderr()  # else the next file that is opened would be stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield lambda text: write_to(real, text)
        return
    global _columns  # noqa: PLW0603 - there is one stdout
    sys.stdout.flush()
    _columns = _width(1)
    # Not a number below 3: where stderr is closed, that would make the result's channel stderr.
    kept = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    _point_at_stderr()
    try:
        yield lambda text: _write_all(kept, text)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        _columns = None


def _width(descriptor: int) -> int | None:
    try:
        return os.get_terminal_size(descriptor).columns if os.isatty(descriptor) else None
    except OSError:
        return None


def _descriptor() -> int | None:
    try:
        return sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _point_at_stderr() -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != 1:
            os.dup2(nowhere, 1)
            os.close(nowhere)


def _write_all(descriptor: int, text: str) -> None:
    rest = memoryview(text.encode("utf-8", "surrogateescape"))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_to(stream: TextIO | None, text: str) -> None:
    """Write to a stream at once, and say where there is none."""
    if stream is None:  # closed before the program began
        raise BrokenPipeError
    stream.write(text)
    stream.flush()
