"""The result of a command, and the only way in which it reaches stdout."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO, TypeAlias

from audioloom_stage.escapes import printable_json, safe_text
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.redaction import redact_values
from audioloom_stage.terminal import coloured, descriptor_of

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

Write: TypeAlias = Callable[[str], None]

_columns: int | None = None  # of the terminal for results, while stdout is reserved for them


@dataclass(frozen=True)
class Result:
    """The answer of a command.

    Attributes:
        text: for people and shells; an iterable of lines for a log that is followed.
        data: for programs, printed with `--json`.
        next: commands that are useful now, printed to stderr.
        exit_code: not 0 when the answer itself is bad news, such as a failed check.
        problem: the bad news in one sentence; by default the meaning of the exit code.
        colours: the colours of first words of lines of the text, where a terminal shows it.
    """

    text: str | Iterable[str]
    data: Mapping[str, JSON] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    exit_code: int = 0
    problem: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)


def emit(result: Result, write: Write, *, kind: str, as_json: bool) -> bool:
    """Write a result: its text, or with *as_json* one JSON object on one line.

    A result holds data from outside, so text and JSON are escaped, each in its own way, and secrets
    are masked here, for every command.

    Returns:
        True if somebody read the result. A reader that leaves after some lines (`… | head -1`) has
        read it; a reader that got nothing, or a part of a single text, has not.
    """
    parts: Iterable[str]
    if as_json:
        code, data = result.exit_code, redact_values(result.data)
        error = redact_values(error_object(code, result.problem)) if code else None
        parts = [as_object(data, kind=kind, error=error)]
    else:
        text = result.text
        whole = [text.removesuffix("\n")] if isinstance(text, str) else text
        parts = (_with_colour(safe_text(each, lines=True), result.colours) for each in whole)
    read = False
    try:
        for part in parts:
            write(part + "\n")
            read = True
    except BrokenPipeError:
        return read
    return True


def _with_colour(line: str, colours: Mapping[str, str]) -> str:
    """Colour the first word of a line, after the line was escaped."""
    word, space, rest = line.partition(" ")
    if _columns is None or word not in colours:
        return line
    return f"{coloured(word, colours[word])}{space}{rest}"


def error_object(code: int, message: str = "", **parts: str) -> dict[str, JSON]:
    """Return the `error` of a failed command's JSON object.

    The class is the name of the exit code, the message by default its meaning. The parts are
    where, expected, found and hint, as far as they are known.
    """
    known = next((each for each in ExitCode if each == code), None)
    return {
        "class": known.name.lower() if known else "command_failed",
        "message": message or (known.meaning if known else f"exit code {code}"),
        **{part: parts.get(part) or None for part in ("where", "expected", "found", "hint")},
    }


def as_object(
    data: Mapping[str, JSON], *, kind: str, error: Mapping[str, JSON] | None = None
) -> str:
    """Return the JSON object of a result: kind, version, ok, error, and the command's own fields.

    Raises:
        ValueError: a number that JSON cannot hold, or a key of the envelope.
        TypeError: a value that is not JSON.
    """
    envelope = {"kind": kind, "version": 1, "ok": error is None, "error": error}
    if taken := envelope.keys() & data.keys():
        raise ValueError(f"the envelope of a result owns {sorted(taken)}")
    return printable_json(json.dumps({**envelope, **data}, ensure_ascii=False, allow_nan=False))


def result_columns() -> int | None:
    """Return the width of the terminal that shows the result; None if it goes elsewhere."""
    return _columns


@contextlib.contextmanager
def reserved_stdout() -> Iterator[Write]:
    """Keep stdout for the result: in the block, everything else written to it goes to stderr.

    The descriptor itself is redirected, so that this holds for a JVM or any other child too,
    and children do not inherit the real one: none of them can keep a pipe open.
    """
    _fill_closed()
    if descriptor_of(sys.stdout) != 1:  # captured by a test, or closed
        real = sys.stdout
        if real is None:
            os.dup2(2, 1)  # else the next file that is opened would be stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield lambda text: write_to(real, text)
        return
    global _columns  # noqa: PLW0603 - there is one stdout
    sys.stdout.flush()
    with contextlib.suppress(OSError):  # it is no terminal
        _columns = os.get_terminal_size(1).columns
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield lambda text: _write_all(kept, text)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        _columns = None


def _fill_closed() -> None:
    """Open a closed stdin or stderr for good, or the next file that is opened would be it."""
    for number in (0, 2):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere == number:
                os.set_inheritable(number, True)  # noqa: FBT003
            else:
                os.dup2(nowhere, number)
                os.close(nowhere)


def _write_all(descriptor: int, text: str) -> None:
    rest = memoryview(text.encode("utf-8", "surrogateescape"))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_to(stream: TextIO | None, text: str) -> None:
    """Write to a stream at once, and report a stream that is missing."""
    if stream is None:  # the stream was closed before the program began
        raise BrokenPipeError
    stream.write(text)
    stream.flush()
