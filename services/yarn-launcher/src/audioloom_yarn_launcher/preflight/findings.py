"""What a look at something found: it is well, it may go wrong, or it will; and the mend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failure"]
_MARKS = {"ok": "ok", "warning": "warning", "failure": "FAILURE"}


@dataclass(frozen=True)
class Finding:
    """One line of `doctor`.

    Args:
        check: what was looked at.
        state: ok; warning, also where nobody can tell; failure, if `run` would fail by it.
        text: what was found.
        mend: what to do about it; "" if it is well.
    """

    check: str
    state: State
    text: str
    mend: str = ""


def ok(check: str, text: str) -> Finding:
    """It is well."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, mend: str) -> Finding:
    """It may go wrong."""
    return Finding(check, "warning", text, mend)


def failure(check: str, text: str, mend: str) -> Finding:
    """It will go wrong."""
    return Finding(check, "failure", text, mend)


def cannot_tell(check: str, why: str, mend: str = "Ask who runs the cluster.") -> Finding:
    """Nobody here knows; that is no reason not to try."""
    return Finding(check, "warning", f"cannot tell: {why}", mend)


def has_failed(findings: Iterable[Finding]) -> bool:
    """Whether one of them is a failure."""
    return any(each.state == "failure" for each in findings)


def lines(findings: Sequence[Finding]) -> list[str]:
    """One line each, in columns."""
    width = max((len(each.check) for each in findings), default=0)
    return [_line(each, width) for each in findings]


def _line(finding: Finding, width: int) -> str:
    mend = f" -> {finding.mend}" if finding.mend else ""
    text = " ".join(f"{finding.text}{mend}".split())
    return f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {text}"
