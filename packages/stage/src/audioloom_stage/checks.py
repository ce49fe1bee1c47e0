"""The checks of `doctor`: each is asked in its own thread with its own deadline.

What one check finds keeps no other from being asked. The result is ok, a warning, a failure or
skipped, with a hint what to do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from audioloom_storage import StorageError
from audioloom_storage.deadline import within

from audioloom_stage.errors import StageError
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import JSON, Result
from audioloom_stage.terminal import DIM, GREEN, RED, YELLOW

AT_ONCE_S = 30.0
Severity = Literal["ok", "warning", "failure", "skipped"]
_MARKS = {"ok": "ok", "warning": "warning", "failure": "FAILURE", "skipped": "skipped"}
COLOURS = {"ok": GREEN, "warning": YELLOW, "FAILURE": RED, "skipped": DIM}
"""Of the first word of a line."""


@dataclass(frozen=True)
class CheckResult:
    """One line of `doctor`.

    Args:
        state: ok; warning, also for an unknown result; failure, if `run` would fail; skipped, if
            another check has failed that this one needs.
        hint: what to do about it; "" if it is ok.
    """

    check: str
    state: Severity
    text: str
    hint: str = ""


Ask: TypeAlias = Callable[[], CheckResult | Iterable[CheckResult]]
"""A check, which answers or raises what `run` would."""


def ok(check: str, text: str) -> CheckResult:
    """A check that succeeded."""
    return CheckResult(check, "ok", text)


def warning(check: str, text: str, hint: str) -> CheckResult:
    """A finding that may make `run` fail."""
    return CheckResult(check, "warning", text, hint)


def failure(check: str, text: str, hint: str) -> CheckResult:
    """A finding that will make `run` fail."""
    return CheckResult(check, "failure", text, hint)


def cannot_tell(check: str, why: str, hint: str = "Ask who runs the cluster.") -> CheckResult:
    """An unknown result: no reason not to try."""
    return CheckResult(check, "warning", f"cannot tell: {why}", hint)


def skipped(check: str, why: str) -> CheckResult:
    """A check that was not made because of the result of another one."""
    return CheckResult(check, "skipped", why)


def has_failed(findings: Iterable[CheckResult]) -> bool:
    """Return whether any check failed."""
    return any(each.state == "failure" for each in findings)


def report(findings: Sequence[CheckResult]) -> Result:
    """Return the result of `doctor`: a line for each check, exit code 78 if `run` would fail."""
    data: dict[str, JSON] = {"findings": [asdict(each) for each in findings]}
    code = ExitCode.CONFIGURATION if has_failed(findings) else 0
    return Result(lines(findings), data, exit_code=code, colours=COLOURS)


def look(checks: Mapping[str, Ask], within_s: float = AT_ONCE_S) -> list[CheckResult]:
    """Make all checks at once; return their results in order."""
    with ThreadPoolExecutor(len(checks), "doctor") as pool:
        found = pool.map(lambda name: look_at(name, checks[name], within_s), checks)
        return [each for results in found for each in results]


def look_at(name: str, check: Ask, within_s: float = AT_ONCE_S) -> list[CheckResult]:
    """Make a check; a failure is what it raises, or its silence."""

    def ask() -> list[CheckResult]:
        found = check()
        return [found] if isinstance(found, CheckResult) else list(found)

    try:
        return within(within_s, ask)
    except TimeoutError as error:
        return [failure(name, str(error), "Ask who runs it, or try again later.")]
    except StageError as error:
        told = StageError(error.summary, expected=error.expected, found=error.found)
        told.where = error.where
        return [failure(name, str(told), error.hint)]
    except StorageError as error:
        found = ": ".join(filter(None, (error.where, error.found)))
        return [failure(name, found, error.hint)]
    except ImportError as error:
        return [
            failure(name, f"{type(error).__name__}: {error}", "Install it in this environment.")
        ]
    except Exception as error:  # noqa: BLE001 - a check of ours that fails says nothing of the rest
        return [cannot_tell(name, f"{type(error).__name__}: {error}")]


def lines(findings: Sequence[CheckResult]) -> list[str]:
    """Format one aligned line per check, and one for all checks that were skipped for a reason."""
    made = [each for each in findings if each.state != "skipped"]
    width = max((len(each.check) for each in made), default=0)
    reasons: dict[str, list[str]] = {}
    for each in findings:
        if each.state == "skipped":
            reasons.setdefault(each.text, []).append(each.check)
    left = [skipped(", ".join(checks), why) for why, checks in reasons.items()]
    return [_line(each, width) for each in made] + [_line(each, 0) for each in left]


def _line(finding: CheckResult, width: int) -> str:
    hint = f" -> {finding.hint}" if finding.hint else ""
    text = " ".join(f"{finding.text}{hint}".split())
    return f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {text}"
