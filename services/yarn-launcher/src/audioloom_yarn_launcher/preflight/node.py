"""The check of a node: a container that `doctor` sends there, and its answer."""

import shlex
import time
from collections.abc import Iterator

from audioloom_stage.checks import CheckResult, failure, ok, warning
from pydantic import BaseModel, ConfigDict

from audioloom_yarn_launcher.errors import ApplicationLost
from audioloom_yarn_launcher.preflight.local import OLDEST_JAVA, read_java
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.system.waiting import poll
from audioloom_yarn_launcher.yarn.application_errors import explain, why_it_waits
from audioloom_yarn_launcher.yarn.application_spec import ENVIRONMENT, LAUNCHER, Shape, describe
from audioloom_yarn_launcher.yarn.skein_client import Cluster

TOLD = "probe: "
LOOK_EVERY_S = 0.5
MOST_SKEW_S = 60.0
"""Kerberos bears five minutes, and records of several machines are compared by people."""
ROOM_MB = 4096


class Answer(BaseModel):
    """The findings of a probe in its container.

    Args:
        clock: seconds since 1970, by the node.
        unread: why it could not read the file; "" if it could.
        command_python: output of the interpreter of --environment; None without one.
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


def check_node(
    answer: Answer, *, began: float, ended: float, gpus: int, kerberos: bool
) -> Iterator[CheckResult]:
    """Interpret a probe's answer to a question open from *began* to *ended*, by our clock."""
    version, java = read_java(answer.java)
    if version is None or version < OLDEST_JAVA:
        hint = "Ask who runs the cluster for Java 8 or newer, or --coordinator-env JAVA_HOME=/…"
        yield warning("node's Java", f"java -version says {java}", hint)
    else:
        yield ok("node's Java", f"{java} on {answer.host}")
    yield ok("node's Python", f"{answer.python}, {answer.libc}, shipped with the launcher")
    said = answer.command_python
    if said is not None and said.startswith("Python 3."):
        yield ok("environment", f"{said} of --environment works on the node")
    elif said is not None:
        hint = "Make it with `env pack` or conda-pack, on a machine with no newer C library."
        yield failure("environment", f"its bin/python does not run on the node: {said}", hint)
    if answer.unread:
        hint = "See that nodes reach the root's storage; `run --file-system` for another HDFS."
        yield failure("node reads", answer.unread, hint)
    else:
        yield ok("node reads", answer.file)
    if kerberos and not answer.tokens:
        hint = "Ask who runs the cluster; see tokens."
        yield failure("node's tokens", "none were given", hint)
    else:
        given = f"{answer.tokens} of HDFS" if answer.tokens else "none, and none needed"
        yield ok("node's tokens", given)
    yield _disk(answer)
    if answer.noexec:
        hint = "Ask who runs the cluster for a local folder where programs may run."
        yield failure("node's temp dir", f"noexec on {answer.host}", hint)
    yield _gpus(answer, gpus)
    yield _clock(answer, began, ended)


def _disk(answer: Answer) -> CheckResult:
    text = f"{answer.free_mb} MiB free for containers on {answer.host}"
    if answer.free_mb < ROOM_MB:
        hint = f"Environments and staged data take room there: {ROOM_MB} MiB is little."
        return warning("node's disk", text, hint)
    return ok("node's disk", text)


def _gpus(answer: Answer, asked: int) -> CheckResult:
    seen = ", ".join(answer.gpus) or "none"
    if asked and len(answer.gpus) < asked:
        text = f"{asked} asked for, and nvidia-smi shows {seen}"
        return warning("node's GPUs", text, "Ask who runs the cluster: drivers on the nodes.")
    if len(answer.gpus) > asked:
        text = f"{asked} asked for, and {len(answer.gpus)} are seen: containers are not isolated"
        return warning("node's GPUs", text, "TensorFlow would take all: set CUDA_VISIBLE_DEVICES.")
    return ok("node's GPUs", seen)


def _clock(answer: Answer, began: float, ended: float) -> CheckResult:
    behind, ahead = began - answer.clock, answer.clock - ended
    skew = max(behind, ahead, 0.0)
    word = "behind" if behind > ahead else "ahead"
    if skew > MOST_SKEW_S:
        text = f"{answer.host} is at least {skew:.0f} s {word} of this machine"
        return warning("node's clock", text, "Set the clocks by NTP: Kerberos bears 300 s.")
    return ok("node's clock", f"within {ended - began + skew:.0f} s of this one")


def ask_node(
    cluster: Cluster, shape: Shape, *, launcher: str, kerberos: bool, within_s: float
) -> Iterator[CheckResult]:
    """Submit a probe, a run's master alone with the GPUs of a worker, and interpret its answer.

    It reads the archive of the launcher. StageError if no answer comes back, and why.
    """
    began, gpus = time.time(), shape.roles[WORKER].gpus
    whole = describe(shape, launcher=launcher, folder="")
    shipped = whole["services"][WORKER]["files"]
    master = whole["master"] | {
        "resources": whole["master"]["resources"] | {"gpus": gpus},
        "files": {name: shipped[name] for name in (LAUNCHER, ENVIRONMENT) if name in shipped},
        "script": f"exec {LAUNCHER}/bin/python -I -m audioloom_yarn_launcher probe"
        f" {shlex.quote(launcher)}\n",
    }
    probe = whole | {"name": "audioloom doctor", "services": {}, "master": master}
    application = cluster.submit(probe)
    poll(lambda: cluster.report(application).ended, every_s=LOOK_EVERY_S, within_s=within_s)
    report = cluster.report(application)
    if not report.ended:
        cluster.kill(application)
        raise ApplicationLost(
            f"the probe did not come back within {within_s:g} s",
            where=application,
            found=why_it_waits(report.state, report.diagnostics),
        )
    told = report.diagnostics.strip()
    if not told.startswith(TOLD):
        raise explain(report.diagnostics, application=application)
    answer = Answer.model_validate_json(told.removeprefix(TOLD))
    return check_node(answer, began=began, ended=time.time(), gpus=gpus, kerberos=kerberos)
