"""Show an error to a person or a log collector: what, where, expected, found, what to do."""

import logging
import traceback
from contextlib import suppress
from pathlib import Path

from audioloom_stage.escapes import printable, safe_text, shortened
from audioloom_stage.exit_codes import FULL, ExitCode, exit_code
from audioloom_stage.redaction import redact, redact_values
from audioloom_stage.result import Write, as_object, error_object
from audioloom_stage.terminal import write_line

_LIMIT = 2000  # characters of one field: long text from outside must not bury the message


def report(error: BaseException, *, program: str, debug: bool, as_json: bool) -> ExitCode:
    """Print why a command ended to stderr, as text or one JSON line, and return its exit code.

    With *debug* the traceback comes first, but never with local variables: they hold secrets.
    """
    code = exit_code(error)
    told = tell(error, code, program)
    trace = "".join(traceback.format_exception(error)).rstrip() if debug else ""
    if as_json:
        told |= {"exception": trace} if trace else {}
        import structlog  # noqa: PLC0415 - the console form must also work where logging failed

        headline = told.pop("error")
        structlog.get_logger().error(headline, exit_code=int(code), **told)
        return code
    if trace:
        write_line(safe_text(trace, lines=True))
    width = max(map(len, told))
    for word, text in told.items():
        shown = printable(text, lines=True).replace("\n", "\n" + " " * (width + 4))
        write_line(f"error: {shown}" if word == "error" else f"  {word:<{width}}  {shown}")
    return code


def tell(error: BaseException, code: ExitCode, program: str) -> dict[str, str]:
    """Return the parts of an error's text that are not empty, the headline first."""
    told = {
        "error": str(getattr(error, "summary", "")) or code.meaning,
        "where": str(getattr(error, "where", "")),
        "expected": str(getattr(error, "expected", "")),
        "found": str(getattr(error, "found", "")),
        "try": str(getattr(error, "hint", "")),
    }
    if code is ExitCode.INTERRUPTED:
        told = {"error": "interrupted"}
    elif code is ExitCode.OUR_BUG:
        told = {
            "error": f"this is a bug in {program}: {_named(error)}",
            "where": _place(error),
            "try": "run the same command with --debug and report what it prints",
        }
    elif isinstance(error, MemoryError):
        told = {
            "error": "out of memory",
            "found": str(error),
            "try": "give this process more memory",
        }
    elif not hasattr(error, "where"):
        told |= _of_a_library(error)
    return {word: shortened(redact(text), _LIMIT) for word, text in told.items() if text}


def emit_error(error: BaseException, write: Write, *, program: str, kind: str) -> None:
    """Write the JSON object of a failed command to stdout. A lost reader is no error here."""
    code = exit_code(error)
    told = tell(error, code, program)
    hint = told.pop("try", "")
    parts = redact_values(error_object(code, told.pop("error"), **told, hint=hint))
    with suppress(OSError):
        write(as_object({}, kind=kind, error=parts) + "\n")


def _of_a_library(error: BaseException) -> dict[str, str]:
    if isinstance(error, OSError) and error.strerror:
        full = "make room, then run the same command again: finished work is kept"
        return {
            "error": error.strerror[:1].lower() + error.strerror[1:],
            "where": str(error.filename or ""),
            "try": full if error.errno in FULL else "",
        }
    if isinstance(error, ImportError):
        return {
            "error": "a Python module of this installation cannot be imported",
            "where": error.path or _place(error),
            "found": _named(error),
            "try": "install the program anew, with all that it needs, in a new environment",
        }
    return {"error": f"{exit_code(error).meaning}: {_named(error)}"}


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(error: BaseException) -> str:
    """Return file and line of the last frame in the stage's own code, else of the last frame."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if _is_ours(Path(each.filename))]
    last = (ours or list(frames))[-1:]
    return "".join(f"{each.filename}:{each.lineno} in {each.name}" for each in last)


def _is_ours(file: Path) -> bool:
    package = file.parent.name
    return package.startswith("audioloom_") and package != "audioloom_stage"


def say_next(commands: tuple[str, ...], *, as_json: bool) -> None:
    """Print the commands that are useful after a success, to stderr."""
    if not commands or logging.getLogger("audioloom").level > logging.INFO:
        return
    if as_json:
        import structlog  # noqa: PLC0415 - see above

        structlog.get_logger().info("next", commands=list(commands))
        return
    for each in commands:
        write_line(f"next: {safe_text(each)}")
