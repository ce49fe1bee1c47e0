"""The agent in a container: its identity, its address, and the environment of its command."""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from audioloom_stage.escapes import safe_text

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.causes import CONFIGURATION
from audioloom_yarn_launcher.system.addresses import NoAddress, own_address
from audioloom_yarn_launcher.worker.agent import ALONE, AgentContext, Worker, work
from audioloom_yarn_launcher.yarn.application_spec import ENVIRONMENT, NODE_PYTHON, unwrap
from audioloom_yarn_launcher.yarn.skein_application import (
    SkeinStore,
    as_store_lost,
    current_application,
    import_skein,
)

STOP_GRACE_S = 0.5
THROUGH_A_PROXY = "tensorboardColab=true#scalars"
"""TensorBoard's option for a proxy that only passes GET, as YARN's does. Without it the curves stay
empty, because TensorBoard reads them by POST. Its other page of curves, Time Series, sends braces,
which YARN's proxy refuses too."""


def work_in_container(advertise: str, role: str | None) -> int:
    """Run a worker in this container of the application; return the exit code."""
    skein = import_skein()
    me = str(skein.properties.container_id)
    try:
        application = current_application()
        here = agent_context(advertise, os.environ)
        context = replace(here, show=lambda page: show_page(application, str(role), page))
        number = int(me.rpartition("_")[2])
        return work(Worker(SkeinStore(application), me, number, context, role))
    except NoAddress as error:
        sys.stderr.write(f"{safe_text(error)}\n")
        return CONFIGURATION
    except StoreLost as error:
        sys.stderr.write(f"the application master is gone: {safe_text(error)}\n")
        return ALONE


def show_page(application: Any, route: str, page: str) -> str:
    """Publish a page below the application's own; return its address, or raise StoreLost."""
    with suppress(StoreLost), as_store_lost(ValueError):  # it exists only after a restart
        application.ui.remove_page(route)
    with as_store_lost(ValueError):
        shown = application.ui.add_page(route, page)
    return f"{shown.address}?{THROUGH_A_PROXY}"


def agent_context(advertise: str, variables: Mapping[str, str]) -> AgentContext:
    """The context of an agent in this container; NoAddress if the node has none.

    *advertise* is a template with `{node}`, `{hostname}` or `{fqdn}`, or a network.
    """
    host = variables.get("NM_HOST") or socket.gethostname()
    names = {"{node}": host, "{hostname}": socket.gethostname(), "{fqdn}": socket.getfqdn()}
    for name, value in names.items():
        advertise = advertise.replace(name, value)
    folder = Path.cwd() / ENVIRONMENT
    return AgentContext(
        host,
        own_address(advertise),
        command_variables(variables, folder),
        STOP_GRACE_S,
        container=variables.get("CONTAINER_ID", ""),
    )


def command_variables(variables: Mapping[str, str], environment: Path) -> dict[str, str]:
    """The variables of the command, with the programs of its own environment first on the PATH.

    A conda environment finds its files by CONDA_PREFIX; its activation scripts are not run.
    """
    found = unwrap(variables)
    usual = found.get("PATH", "/usr/bin:/bin")
    python = found.pop(NODE_PYTHON, None)
    if python is not None:
        there = os.access(python, os.X_OK)  # else another would run, and nobody would know
        folder = str(Path(python).parent)
        found["PATH"] = f"{folder}:{usual}" if there else folder
        environment = Path(python).parent.parent
    elif (environment / "bin").is_dir():
        found["PATH"] = f"{environment}/bin:{usual}"
    else:
        return found
    if (environment / "conda-meta").is_dir():
        found["CONDA_PREFIX"] = str(environment)
    elif python is None or (environment / "pyvenv.cfg").is_file():
        found["VIRTUAL_ENV"] = str(environment)
    return found
