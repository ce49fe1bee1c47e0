"""What `doctor` says of a node, by what the probe in a container has found there."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from audioloom_yarn_launcher.preflight.findings import Finding, failure, ok, warning
from audioloom_yarn_launcher.preflight.local_checks import OLDEST_JAVA, java_line, java_version

MOST_SKEW_S = 60.0
"""Kerberos bears five minutes, and records of several machines are compared by people."""
ROOM_MB = 4096


class Answer(BaseModel):
    """What the probe has found in its container.

    Args:
        host: the node, as YARN calls it.
        clock: seconds since 1970, by the node.
        java: what `java -version` says there.
        python: version of the launcher's own.
        libc: `glibc 2.36`.
        free_mb: on the disk of its working folder.
        gpus: the names of those that it sees.
        tokens: how many tokens of HDFS it was given.
        file: what it read of the storage: location and bytes.
        unread: why it could not; "" if it could.
        command_python: what the interpreter of --environment says; None without one.
        noexec: whether programs in its folder for temporary files may not run.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str
    clock: float
    java: str
    python: str
    libc: str
    free_mb: int
    gpus: tuple[str, ...]
    tokens: int
    file: str
    unread: str = ""
    command_python: str | None = None
    noexec: bool = False


def findings(
    answer: Answer, *, began: float, ended: float, gpus: int, kerberos: bool
) -> Iterator[Finding]:
    """What a probe's answer means.

    Args:
        answer: of the probe.
        began: the time here before it was submitted.
        ended: the time here when it had ended.
        gpus: how many were asked for.
        kerberos: whether the cluster has it, so that the container needs tokens.
    """
    yield _java(answer)
    yield ok("node's Python", f"{answer.python}, {answer.libc}, shipped with the launcher")
    if answer.command_python is not None:
        yield _command_python(answer.command_python)
    yield _storage(answer)
    yield _tokens(answer.tokens, kerberos=kerberos)
    yield _disk(answer)
    if answer.noexec:
        mend = "Ask who runs the cluster for a local folder where programs may run."
        yield failure("node's temp dir", f"noexec on {answer.host}", mend)
    yield _gpus(answer, gpus)
    yield _clock(answer, began, ended)


def _java(answer: Answer) -> Finding:
    version, first = java_version(answer.java), java_line(answer.java)
    if version is None or version < OLDEST_JAVA:
        mend = "Ask who runs the cluster for Java 8 or newer, or --coordinator-env JAVA_HOME=/…"
        return warning("node's Java", f"java -version says {first}", mend)
    return ok("node's Java", f"{first} on {answer.host}")


def _command_python(said: str) -> Finding:
    if said.startswith("Python 3."):
        return ok("environment", f"{said} of --environment works on the node")
    mend = "Make it with `env pack` or conda-pack, on a machine with no newer C library."
    return failure("environment", f"its bin/python does not run on the node: {said}", mend)


def _storage(answer: Answer) -> Finding:
    if answer.unread:
        mend = "See that nodes reach the root's storage; --file-system for another HDFS' tokens."
        return failure("node reads", answer.unread, mend)
    return ok("node reads", answer.file)


def _tokens(count: int, *, kerberos: bool) -> Finding:
    if kerberos and not count:
        return failure("node's tokens", "none were given", "Ask who runs the cluster; see tokens.")
    return ok("node's tokens", f"{count} of HDFS" if count else "none, and none needed")


def _disk(answer: Answer) -> Finding:
    text = f"{answer.free_mb} MiB free for containers on {answer.host}"
    if answer.free_mb < ROOM_MB:
        mend = f"Environments and staged data take room there: {ROOM_MB} MiB is little."
        return warning("node's disk", text, mend)
    return ok("node's disk", text)


def _gpus(answer: Answer, asked: int) -> Finding:
    seen = ", ".join(answer.gpus) or "none"
    if asked and len(answer.gpus) < asked:
        text = f"{asked} asked for, and nvidia-smi shows {seen}"
        return warning("node's GPUs", text, "Ask who runs the cluster: drivers on the nodes.")
    if len(answer.gpus) > asked:
        text = f"{asked} asked for, and {len(answer.gpus)} are seen: containers are not isolated"
        return warning("node's GPUs", text, "TensorFlow would take all: set CUDA_VISIBLE_DEVICES.")
    return ok("node's GPUs", seen)


def _clock(answer: Answer, began: float, ended: float) -> Finding:
    behind, ahead = began - answer.clock, answer.clock - ended
    skew = max(behind, ahead, 0.0)
    word = "behind" if behind > ahead else "ahead"
    if skew > MOST_SKEW_S:
        text = f"{answer.host} is at least {skew:.0f} s {word} of this machine"
        return warning("node's clock", text, "Set the clocks by NTP: Kerberos bears 300 s.")
    return ok("node's clock", f"within {ended - began + skew:.0f} s of this one")
