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
    OutcomeUnknown,
    ServiceDown,
    StageError,
    exit_code,
)

from audioloom_yarn_launcher.errors import (
    ApplicationEnded,
    ApplicationLost,
    NotAllowed,
    NotOffered,
    ResourceManagerDown,
)

MOST_FOUND = 600

OLD_JAVA = r"UnsupportedClassVersionError|Unsupported major\.minor version"
NEW_JAVA = r"getSubject is (?:not )?supported"

_ANOTHER_JAVA = "Or name one that they have: --coordinator-env JAVA_HOME=/…"
_NO_JAVA = (
    NotOffered,
    "the node has no Java where YARN looks for it",
    f"Ask who runs the cluster: JAVA_HOME of its NodeManagers is wrong. {_ANOTHER_JAVA}",
)
_SHELL_FOUND_NONE = re.compile(r"AM Container for \S+ exited with +exitCode: 12[67]\b")
_NO_TALK = re.compile(
    r"failed on [a-z ]+ exception|RPC response has|UnknownHost|NoRouteToHost|EOFException"
)
_EMPTY_WORDS = ("at ", "Last 4096 bytes", "For more detailed output", "Failing the application")
_TIME = re.compile(r"\[[0-9-]+ [0-9:.]+\]")
_DATE = re.compile(r"\A\[[^]]*\] *")
_ARITHMETIC = re.compile(r"\s(?:Last Node which|Details *:)")
_OURS = re.compile(r"\Aexit ([0-9]+): (.*)\Z", re.DOTALL)

_KNOWN: tuple[tuple[str, Callable[..., StageError], str, str], ...] = (
    (
        r"bin/java: (?:No such file|not found|Permission denied|cannot execute)",
        *_NO_JAVA,
    ),
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
        r"Download and unpack failed",
        BadData,
        "an archive that the application master needs cannot be unpacked on its node",
        "It is damaged, or there is no room. Delete it below <root>/environments: it is made anew.",
    ),
    (
        r"exceeding memory limits|beyond the 'PHYSICAL' memory limit|physical memory used",
        ApplicationEnded,
        "the application master was killed for memory",
        "Run the same command again with a larger --coordinator-memory.",
    ),
    (
        r"released on a \*?lost\*? node",
        ApplicationLost,
        "the node of the application master was lost",
        "Run the same command again to go on.",
    ),
    (
        r"was killed by user|killed by .*(?:admin|user) ",
        ApplicationEnded,
        "somebody ended the application",
        "Run the same command again to go on.",
    ),
    (
        r"Application driver failed with exit code 78",
        BadConfiguration,
        "the launcher's own environment lacks a Python module that it needs",
        "Install the launcher anew. Its logs name the module: yarn logs -applicationId …",
    ),
    (
        r"Application driver failed with exit code",
        ApplicationLost,
        "the coordinator was ended before it could say why",
        "Look at the application's logs: yarn logs -applicationId …",
    ),
    (
        OLD_JAVA,
        NotOffered,
        "the nodes' Java is too old",
        f"Ask who runs the cluster for Java 8 or newer. {_ANOTHER_JAVA}",
    ),
    (
        NEW_JAVA,
        NotOffered,
        "the nodes' Java is too new for their Hadoop",
        f"Ask who runs the cluster for one that its Hadoop knows. {_ANOTHER_JAVA}",
    ),
)


def ours(diagnostics: str) -> tuple[int, str] | None:
    """The exit code and the sentence that our coordinator ended the application with, if it did."""
    match = _OURS.match(diagnostics.strip())
    return (int(match[1]), match[2]) if match else None


_REFUSALS = (
    BadData,
    InputMissing,
    ServiceDown,
    NameTaken,
    OutcomeUnknown,
    NoPermission,
    BadConfiguration,
)


def refusal(code: int, text: str, *, application: str) -> StageError:
    """The error that our coordinator met before it began."""
    hint = f"yarn logs -applicationId {application}"
    for kind in _REFUSALS:
        if exit_code(kind()) == code:
            return kind(text, where=application, hint=hint)
    return ApplicationLost(text, where=application, hint=hint)


def is_known(diagnostics: str) -> bool:
    """Whether YARN's own words are enough to know why."""
    return _match(diagnostics) is not None


def explain(diagnostics: str, *, application: str, said: str = "") -> StageError:
    """The error that an application's end is, which our coordinator did not explain.

    Args:
        diagnostics: what YARN says of it.
        application: its id.
        said: the last words of its master and coordinator, if they are known.
    """
    known = _match(diagnostics) or _match(said)
    if known is None and _SHELL_FOUND_NONE.search(diagnostics):
        known = _NO_JAVA  # the only program that it starts
    found = _short(said or diagnostics)
    if known is not None:
        kind, summary, hint = known
        return kind(summary, where=application, found=found, hint=hint)
    return ApplicationLost(
        "the application ended, and did not say why",
        where=application,
        found=found or "no diagnostics",
        hint=f"yarn logs -applicationId {application}",
    )


def refused(text: str, *, asked: str) -> StageError:
    """The error that a question to the cluster was answered with."""
    known = _match(text)
    if known is not None:
        kind, summary, hint = known
        return kind(summary, found=_short(text), hint=hint)
    if _NO_TALK.search(text):
        return ResourceManagerDown(
            f"{asked} cannot be talked to",
            found=_short(text),
            hint="Ask who runs the cluster, or look where yarn.resourcemanager.address leads.",
        )
    return ApplicationLost(f"{asked} refused what was asked", found=_short(text))


def why_it_waits(state: str, diagnostics: str) -> str:
    """Why an application has not begun, as the ResourceManager says it, without its arithmetic."""
    if state == "RUNNING":
        return "its coordinator begins, or waits for its turn"
    told = _short(_ARITHMETIC.split(_DATE.sub("", diagnostics.strip()))[0])
    return told or "the ResourceManager gives no reason"


def _match(text: str) -> tuple[Callable[..., StageError], str, str] | None:
    for pattern, kind, summary, hint in _KNOWN:
        if re.search(pattern, text, re.IGNORECASE):
            return kind, summary, hint
    return None


def _short(text: str) -> str:
    text = text.partition("Dump of the process-tree")[0]
    lines = [line.strip(" .\t") for line in text.splitlines()]
    told = [line for line in dict.fromkeys(lines) if line and not line.startswith(_EMPTY_WORDS)]
    short = " ".join(_TIME.sub("", line) for line in told)
    return short if len(short) <= MOST_FOUND else f"{short[: MOST_FOUND - 1]}…"
