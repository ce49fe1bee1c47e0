"""The reason why YARN did not run an application: one of our errors, from YARN's diagnostics."""

import re
from collections.abc import Callable

from audioloom_hadoop.yarn_diagnostics import Cause, brief, diagnose
from audioloom_stage import errors
from audioloom_stage.exit_codes import exit_code

from audioloom_yarn_launcher.errors import (
    ApplicationEnded,
    ApplicationLost,
    NotOffered,
    ResourceManagerDown,
)

MOST_FOUND = 600

_ANOTHER_JAVA = "Or name one that they have: --coordinator-env JAVA_HOME=/…"
_GO_ON = "Run the same command again to go on."
_SHELL_FOUND_NONE = re.compile(r"AM Container for \S+ exited with +exitCode: 12[67]\b")
_NO_TALK = re.compile(
    r"failed on [a-z ]+ exception|RPC response has|UnknownHost|NoRouteToHost|EOFException"
)
_DATE = re.compile(r"\A\[[^]]*\] *")
_ARITHMETIC = re.compile(r"\s(?:Last Node which|Details *:)")
_OURS = re.compile(r"\Aexit ([0-9]+): (.*)\Z", re.DOTALL)

_Known = tuple[type[errors.StageError], str, str]
_NOT_ALLOWED = (
    errors.NoPermission,
    "the cluster does not let you run this",
    "Ask who runs the cluster for the right, or give another --queue.",
)
_KNOWN: dict[Cause, _Known] = {
    Cause.NO_JAVA: (
        NotOffered,
        "the node has no Java where YARN looks for it",
        f"Ask who runs the cluster: JAVA_HOME of its NodeManagers is wrong. {_ANOTHER_JAVA}",
    ),
    Cause.TOO_LARGE: (
        NotOffered,
        "the cluster gives no container that large",
        "Ask for less with --memory, --vcores or --gpus.",
    ),
    Cause.NO_QUEUE: (
        NotOffered,
        "the cluster has no such queue to run in",
        "Give another --queue.",
    ),
    Cause.QUEUE_DENIED: _NOT_ALLOWED,
    Cause.FILE_DENIED: _NOT_ALLOWED,
    Cause.DENIED: _NOT_ALLOWED,
    Cause.BAD_ARCHIVE: (
        errors.BadData,
        "an archive that the application master needs cannot be unpacked on its node",
        "It is damaged, or the disk is full. Delete it below <root>/environments to renew it.",
    ),
    Cause.OUT_OF_MEMORY: (
        ApplicationEnded,
        "the application master was killed for memory",
        "Run the same command again with a larger --coordinator-memory.",
    ),
    Cause.LOST_NODE: (
        ApplicationLost,
        "the node of the application master was lost",
        _GO_ON,
    ),
    Cause.KILLED: (ApplicationEnded, "somebody ended the application", _GO_ON),
    Cause.OLD_JAVA: (
        NotOffered,
        "the nodes' Java is too old",
        f"Ask who runs the cluster for Java 8 or newer. {_ANOTHER_JAVA}",
    ),
    Cause.NEW_JAVA: (
        NotOffered,
        "the nodes' Java is too new for their Hadoop",
        f"Ask who runs the cluster for one that its Hadoop knows. {_ANOTHER_JAVA}",
    ),
}
_OF_SKEIN: tuple[tuple[str, _Known], ...] = (
    (
        "Application driver failed with exit code 78",
        (
            errors.BadConfiguration,
            "the launcher's own environment lacks a Python module that it needs",
            "Install the launcher again. Its logs name the module: yarn logs -applicationId …",
        ),
    ),
    (
        "Application driver failed with exit code",
        (
            ApplicationLost,
            "the coordinator was ended before it could say why",
            "Look at the application's logs: yarn logs -applicationId …",
        ),
    ),
)
_REFUSALS = (
    errors.BadData,
    errors.InputMissing,
    errors.ServiceDown,
    errors.NameTaken,
    errors.OutcomeUnknown,
    errors.NoPermission,
    errors.BadConfiguration,
)


def outcome_text(code: int, text: str) -> str:
    """Write the diagnostics with which our coordinator ends an application."""
    return f"exit {code}: {text}"


def coordinator_outcome(diagnostics: str) -> tuple[int, str] | None:
    """Read the exit code and sentence from `outcome_text`; None if the coordinator wrote none."""
    match = _OURS.match(diagnostics.strip())
    return (int(match[1]), match[2]) if match else None


def refusal(code: int, text: str, *, application: str) -> errors.StageError:
    """Return the error with which our coordinator ended an application."""
    hint = f"yarn logs -applicationId {application}"
    kind = next((kind for kind in _REFUSALS if exit_code(kind()) == code), ApplicationLost)
    return kind(text, where=application, hint=hint)


def end_error(
    diagnostics: str, *, application: str, last_words: Callable[[str], str] = lambda _: ""
) -> errors.StageError:
    """Return the error for the end of an application: the coordinator's own if it told one."""
    told = coordinator_outcome(diagnostics)
    if told is not None:
        return refusal(*told, application=application)
    return explain(diagnostics, application=application, last_words=last_words)


def explain(
    diagnostics: str, *, application: str, last_words: Callable[[str], str] = lambda _: ""
) -> errors.StageError:
    """Return the error for the end of an application that our coordinator did not explain.

    If YARN's diagnostics do not tell why, the last words of its master and coordinator may.
    """
    known, said = _match(diagnostics), ""
    if known is None:
        said = last_words(application)
        known = _match(said)
    if known is None and _SHELL_FOUND_NONE.search(diagnostics):
        known = _KNOWN[Cause.NO_JAVA]  # the only program that the container starts
    found = brief(said or diagnostics, MOST_FOUND)
    if known is None:
        hint = f"yarn logs -applicationId {application}"
        known = (ApplicationLost, "the application ended, and did not say why", hint)
        found = found or "no diagnostics"
    kind, summary, hint = known
    return kind(summary, where=application, found=found, hint=hint)


def refused(text: str, *, asked: str) -> errors.StageError:
    """Return the error for a request that the cluster refused."""
    kind, summary, hint = _match(text) or (ApplicationLost, f"{asked} refused what was asked", "")
    if not hint and _NO_TALK.search(text):
        kind, summary = ResourceManagerDown, f"{asked} cannot be talked to"
        hint = "Ask who runs the cluster, or look where yarn.resourcemanager.address leads."
    return kind(summary, found=brief(text, MOST_FOUND), hint=hint)


def why_it_waits(state: str, diagnostics: str) -> str:
    """Shorten the ResourceManager's reason why an application waits: drop its arithmetic."""
    if state == "RUNNING":
        return "its coordinator begins, or waits for its turn"
    told = brief(_ARITHMETIC.split(_DATE.sub("", diagnostics.strip()))[0], MOST_FOUND)
    return told or "the ResourceManager gives no reason"


def _match(text: str) -> _Known | None:
    found = diagnose(text, among=_KNOWN)
    if found is not None:
        return _KNOWN[found.cause]
    return next((known for words, known in _OF_SKEIN if words in text), None)
