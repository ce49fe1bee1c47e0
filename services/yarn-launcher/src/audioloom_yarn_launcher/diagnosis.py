"""Why YARN did not run an application, from what it says of it: which of our errors that is."""

from __future__ import annotations

import re
from collections.abc import Callable

from audioloom_stage import (
    BadConfiguration,
    BadData,
    InputMissing,
    NameTaken,
    NoPermission,
    ServiceDown,
    StageError,
    exit_code,
)

from audioloom_yarn_launcher.errors import ApplicationLost, NotAllowed, NotOffered

MOST_FOUND = 600

_OURS = re.compile(r"\Aexit ([0-9]+): (.*)\Z", re.DOTALL)

_KNOWN: tuple[tuple[str, Callable[..., StageError], str, str], ...] = (
    (
        r"Invalid resource request|InvalidResourceRequest",
        NotOffered,
        "the cluster gives no container that large",
        "Ask for less with --memory, --vcores or --gpus.",
    ),
    (
        r"unknown queue|Queue .* (?:not found|doesn't exist|does not exist)|non-leaf queue",
        NotOffered,
        "the cluster has no such queue to run in",
        "Give another --queue.",
    ),
    (
        r"cannot submit applications to queue|AccessControlException|Permission denied",
        NotAllowed,
        "the cluster does not let you run this",
        "Ask who runs the cluster for the right, or give another --queue.",
    ),
    (
        r"java: (?:command )?not found|/bin/java: No such file|bin/java.*No such file",
        NotOffered,
        "the node has no Java where YARN looks for it",
        "Ask who runs the cluster: JAVA_HOME of its NodeManagers is wrong.",
    ),
    (
        r"exceeding memory limits|beyond the 'PHYSICAL' memory limit|physical memory used",
        ApplicationLost,
        "the application master was killed for memory",
        "Run the same command again with a larger --coordinator-memory.",
    ),
    (
        r"was killed by user|killed by .*(?:admin|user) ",
        ApplicationLost,
        "somebody ended the application",
        "Run the same command again to go on.",
    ),
    (
        r"Application driver failed with exit code",
        ApplicationLost,
        "the coordinator was ended before it could say why",
        "Look at the application's logs: yarn logs -applicationId …",
    ),
    (
        r"UnsupportedClassVersionError",
        NotOffered,
        "the nodes' Java is too old",
        "Ask who runs the cluster for Java 8 or newer.",
    ),
)


def ours(diagnostics: str) -> tuple[int, str] | None:
    """The exit code and the sentence that our coordinator ended the application with, if it did."""
    match = _OURS.match(diagnostics.strip())
    return (int(match[1]), match[2]) if match else None


def refusal(code: int, text: str, *, application: str) -> StageError:
    """The error that our coordinator met before it began."""
    hint = f"yarn logs -applicationId {application}"
    for kind in (BadData, InputMissing, ServiceDown, NameTaken, NoPermission, BadConfiguration):
        if exit_code(kind()) == code:
            return kind(text, where=application, hint=hint)
    return ApplicationLost(text, where=application, hint=hint)


def explain(diagnostics: str, *, application: str) -> StageError:
    """The error that an application's end is, which our coordinator did not explain."""
    for pattern, kind, summary, hint in _KNOWN:
        if re.search(pattern, diagnostics, re.IGNORECASE):
            return kind(summary, where=application, found=_short(diagnostics), hint=hint)
    return ApplicationLost(
        "the application ended, and did not say why",
        where=application,
        found=_short(diagnostics) or "no diagnostics",
        hint=f"yarn logs -applicationId {application}",
    )


def _short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    told = " ".join(line for line in lines if line and not line.startswith("at "))
    return told if len(told) <= MOST_FOUND else f"{told[: MOST_FOUND - 1]}…"
