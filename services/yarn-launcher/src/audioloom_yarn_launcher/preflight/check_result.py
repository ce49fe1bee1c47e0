"""The result of a check: ok, a warning or a failure, and a hint what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "warning", "failure"]
_MARKS = {"ok": "ok", "warning": "warning", "failure": "FAILURE"}


@dataclass(frozen=True)
class CheckResult:
    """One line of `doctor`.

    Args:
        state: ok; warning, also for an unknown result; failure, if `run` would fail.
        hint: what to do about it; "" if it is ok.
    """

    check: str
    state: Severity
    text: str
    hint: str = ""


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


def has_failed(findings: Iterable[CheckResult]) -> bool:
    """Return whether any check failed."""
    return any(each.state == "failure" for each in findings)


def lines(findings: Sequence[CheckResult]) -> list[str]:
    """Format one aligned line per check."""
    width = max((len(each.check) for each in findings), default=0)
    return [_line(each, width) for each in findings]


def _line(finding: CheckResult, width: int) -> str:
    hint = f" -> {finding.hint}" if finding.hint else ""
    text = " ".join(f"{finding.text}{hint}".split())
    return f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {text}"
