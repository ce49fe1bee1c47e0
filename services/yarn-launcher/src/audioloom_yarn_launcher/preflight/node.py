"""The application of one container that `doctor` sends to a node, and what comes back."""

from __future__ import annotations

import shlex
import time
from typing import Any, Protocol

from audioloom_yarn_launcher.errors import ApplicationLost
from audioloom_yarn_launcher.preflight.node_checks import Answer
from audioloom_yarn_launcher.yarn.application_spec import Shape, describe
from audioloom_yarn_launcher.yarn.diagnostics import explain, why_it_waits
from audioloom_yarn_launcher.yarn.layout import ENVIRONMENT, LAUNCHER, SERVICE

TOLD = "probe: "
LOOK_EVERY_S = 0.5


class Submitting(Protocol):
    """What a probe needs of a cluster."""

    def submit(self, description: dict[str, Any]) -> str:
        """Submit an application; its id."""

    def report(self, application: str) -> Any:
        """How it is: `state`, `diagnostics`, `ended`."""

    def kill(self, application: str) -> None:
        """End it."""


def describe_probe(shape: Shape, *, launcher: str, read: str) -> dict[str, Any]:
    """The application: as that of a run, with a master alone, and its worker's GPUs.

    Args:
        shape: of the run that is planned.
        launcher: URI of the launcher's own environment.
        read: location of a file that is to be read there.
    """
    whole = describe(shape, launcher=launcher, folder="")
    shipped = whole["services"][SERVICE]["files"]
    master = whole["master"] | {
        "resources": whole["master"]["resources"] | {"gpus": shape.worker.gpus},
        "files": {name: shipped[name] for name in (LAUNCHER, ENVIRONMENT) if name in shipped},
        "script": f"exec {LAUNCHER}/bin/python -I -m audioloom_yarn_launcher probe"
        f" --read={shlex.quote(read)}\n",
    }
    return whole | {"name": "audioloom doctor", "services": {}, "master": master}


def send_probe(cluster: Submitting, description: dict[str, Any], *, within_s: float) -> Answer:
    """Submit the probe, and wait for what it says.

    Raises:
        StageError: it did not come back, and why.
    """
    application = cluster.submit(description)
    deadline = time.monotonic() + within_s
    while not (report := cluster.report(application)).ended:
        if time.monotonic() > deadline:
            cluster.kill(application)
            raise ApplicationLost(
                f"the probe did not come back within {within_s:g} s",
                where=application,
                found=why_it_waits(report.state, report.diagnostics),
            )
        time.sleep(LOOK_EVERY_S)
    told = report.diagnostics.strip()
    if not told.startswith(TOLD):
        raise explain(report.diagnostics, application=application)
    return Answer.model_validate_json(told.removeprefix(TOLD))
