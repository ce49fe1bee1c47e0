"""Set up structlog once per program: readable lines on stderr, or JSON lines on request.

Modules only say `log = structlog.get_logger()`. If an entry has a value `readable`, people see
this sentence alone, and programs the other values. Logs of other libraries come through the
standard library and are written by the same formatter, from WARNING on.
"""

import json
import logging
import math
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from audioloom_stage.escapes import printable, printable_json
from audioloom_stage.redaction import redact_values
from audioloom_stage.terminal import DIM, RED, YELLOW, coloured, is_terminal, write_line

Format = Literal["console", "json"]


@dataclass(frozen=True)
class LogSettings:
    """Settings of a program's log. Small and picklable, so that a Spark task can log alike.

    Attributes:
        level: the lowest level shown of our own logs; other libraries' begin at WARNING.
        debug: show tracebacks, and other libraries from INFO on.
        bound: values on every JSON line, such as stage and run; readable lines are without them.
    """

    format: Format = "console"
    level: int = logging.INFO
    debug: bool = False
    bound: dict[str, Any] = field(default_factory=dict)

    @property
    def as_json(self) -> bool:
        """Whether lines are JSON, for a program that reads them."""
        return self.format == "json"


_current = LogSettings()


def configure_logs(settings: LogSettings) -> None:
    """Set up structlog and the standard library's logging. Only programs call it, once."""
    global _current  # noqa: PLW0603 - a process has one log
    _current = settings
    time_format = "%H:%M:%S" if is_terminal() else "%Y-%m-%dT%H:%M:%SZ"
    first: list[Processor] = []
    if settings.as_json:
        time_format = "iso"
        first.append(structlog.contextvars.merge_contextvars)
    first.append(structlog.stdlib.add_log_level)
    first.append(structlog.processors.TimeStamper(fmt=time_format, utc=True))
    if not settings.debug:
        first.append(_no_trace)
    else:  # before the renderer, so that it is masked and escaped like everything else
        first.append(structlog.processors.format_exc_info)
    handler = _Handler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*first, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                lambda _, __, event: redact_values(event),
                _json_line if settings.as_json else _readable_line,
            ],
        )
    )
    others = [each for each in logging.root.handlers if not isinstance(each, _Handler)]
    logging.root.handlers[:] = [*others, handler]
    logging.root.setLevel(logging.INFO if settings.debug else logging.WARNING)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *first,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=lambda *_: logging.getLogger(_OURS),  # all our own lines go through it
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    logging.getLogger(_OURS).setLevel(settings.level)
    structlog.contextvars.clear_contextvars()
    bind(**settings.bound)


def current_logs() -> LogSettings:
    """Return how this process logs, with bound values; a task passes it to `configure_logs`."""
    return replace(_current, bound=structlog.contextvars.get_contextvars())


def bind(**values: Any) -> None:
    """Put values such as `run=name` on every later log line."""
    structlog.contextvars.bind_contextvars(**values)


_OURS = "audioloom"
_TRACES = ("exception", "stack")
_COLOURS = {"warning": YELLOW, "error": RED, "critical": RED}


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        # As the standard library: a log line never ends the work. But that would print the
        # arguments as they are.
        try:
            write_line(self.format(record))
        except Exception as error:  # noqa: BLE001
            with suppress(Exception):
                write_line(self.format(_instead(record, error)))


def _instead(record: logging.LogRecord, error: Exception) -> logging.LogRecord:
    """Return the line to log instead of one that cannot be formatted."""
    said = f" {record.msg!r}" if isinstance(record.msg, str) else ""
    told = f"a log line{said} cannot be formatted: {type(error).__name__}"
    where = (record.pathname, record.lineno)
    return logging.LogRecord(record.name, logging.WARNING, *where, told, None, None)


def _no_trace(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    told = event.pop("exc_info", None)
    if isinstance(told, tuple):
        told = told[1]
    if told is True:
        told = sys.exc_info()[1]
    if isinstance(told, BaseException):
        event["error"] = f"{type(told).__name__}: {told}"
    event.pop("stack_info", None)
    return event


def _json_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    event.pop("readable", None)
    first = {key: event.pop(key) for key in ("timestamp", "level", "event") if key in event}
    line = _finite({**first, **event})
    return printable_json(json.dumps(line, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """Replace the numbers that JSON does not have by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list) else value


def _readable_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    """Render an entry for people: the time, the level above info, the message, then its values."""
    # A second line of an event or a value would look like another log entry. A trace has lines.
    event = {
        k: printable(v, lines=k in _TRACES) if isinstance(v, str) else v for k, v in event.items()
    }
    time, level = event.pop("timestamp", ""), event.pop("level", "info")
    message = str(event.pop("event", ""))
    traces = [event.pop(key) for key in _TRACES if key in event]
    readable = event.pop("readable", None)
    message = message if readable is None else str(readable)
    paint = coloured if is_terminal() else lambda text, _: text
    if level != "info":
        message = f"{paint(f'{level}:', _COLOURS.get(level, DIM))} {message}"
    values = [f"{key}={value}" for key, value in event.items() if readable is None]
    line = "  ".join([f"{paint(time, DIM)} {message}", *values])
    return "\n".join([line, *traces])
