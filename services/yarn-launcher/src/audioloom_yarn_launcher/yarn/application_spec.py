"""The specification of a skein application, as the plain data that skein reads.

The coordinator runs in the application master's container, so the run goes on when the process that
submitted it has ended. Workers are containers of one service that starts with none: the coordinator
requests them. Coordinator and workers use the launcher's own environment. The command uses a
separate environment, and neither is on the other's path.

YARN writes the variables of a container into a shell script, unescaped between double quotes: a
quote ends the value, `$NAME` and backticks are executed, `{{NAME}}` is another variable and `<CPS>`
a colon (Hadoop's ContainerLaunch). A PYTHONPATH would mislead other programs of the container. So
these variables are encoded in one variable that only workers read.

Docker needs nodes with LinuxContainerExecutor and Docker as an allowed runtime.
"""

import base64
import json
import re
import shlex
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audioloom_yarn_launcher.errors import NotOffered
from audioloom_yarn_launcher.rendezvous.limits import Resources

PROGRAM = "audioloom-yarn-launcher"
LAUNCHER, ENVIRONMENT = "launcher", "environment"
"""The folders of the launcher's own environment and of the command's in a container."""
NODE_PYTHON = "AUDIOLOOM_NODE_PYTHON"
"""The variable that names the Python which the node is to have."""
JOB, HEARTBEAT = "job.json", "heartbeat.jar"
"""The files of the application master: its run, and how often it asks the ResourceManager."""
NAME = "audioloom "
"""The beginning of an application's name; the folder of its run follows."""
HEARTBEAT_MS = 500
"""The interval at which the master asks the ResourceManager, of which it hears of ended containers
and requests new ones; the default of 5 s was most of the time that a gang took to start or restart.
skein has no setting for it: it takes half of a cluster property that it uses for nothing else.
Hadoop also reads a `hadoop-site.xml` from the class path, which includes each jar in the master's
folder. So the cluster's own files stay unchanged."""
MASTERS = 2
"""When one is lost with its coordinator, YARN starts another, which goes on with the run. skein has
YARN do that after a run that failed, too: the second one finds so, and ends in the same way."""
_SITE = f"""\
<configuration>
  <property><name>yarn.am.liveness-monitor.expiry-interval-ms</name>\
<value>{2 * HEARTBEAT_MS}</value><final>true</final></property>
</configuration>
"""
CARRIED = "AUDIOLOOM_RUN_VARIABLES"
"""JSON in base64, which no script changes."""

ONLY_OURS = ("PYTHONHOME", "PYTHONPATH")
"""Variables of the node or of the launcher's own environment, not for the command."""

_PLAIN = re.compile(r"""(?!.*(?:\{\{|\}\}|<CPS>))[^"$`\\\n\r]*""")
_RUNTIME = "YARN_CONTAINER_RUNTIME_"  # the NodeManager itself reads these, not through the script
PREFIX = f"{_RUNTIME}DOCKER_"


@dataclass(frozen=True)
class Shape:
    """The request to the cluster: resources, files and access of one application.

    Args:
        run_folder: URI of the run folder, a part of the application's name.
        roles: resources of each role, each a skein service; the first worker is `worker_0`.
        public: everybody may read the environment, so a node keeps one copy for all users.
        files: URI by name, for the working folder of each worker.
        folders: archive by name; each is unpacked into a folder of that name.
        systems: HDFS besides the default one that need tokens.
    """

    run_folder: str
    queue: str
    node_label: str
    coordinator: Resources
    coordinator_variables: Mapping[str, str]
    roles: Mapping[str, Resources]
    environment: str | None = None
    launch: str = ""
    advertise: str = ""
    public: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    systems: tuple[str, ...] = ()
    view_users: tuple[str, ...] = ()
    ui_users: tuple[str, ...] = ()


def describe(shape: Shape, *, launcher: str, folder: str) -> dict[str, Any]:
    """Describe the application as `skein.ApplicationSpec.from_dict` takes it.

    *launcher* is the URI of the launcher's archive, *folder* holds the files of the master.
    """
    program = f"exec {LAUNCHER}/bin/python -I -m audioloom_yarn_launcher"
    ours = _archive(launcher)
    files = {LAUNCHER: ours}
    if shape.environment is not None:
        files[ENVIRONMENT] = _archive(shape.environment, public=shape.public)
    files |= {name: _file(uri) for name, uri in shape.files.items()}
    files |= {name: _archive(uri) for name, uri in shape.folders.items()}
    return {
        "name": f"{NAME}{shape.run_folder}",
        "queue": shape.queue,
        "node_label": shape.node_label,
        "tags": [PROGRAM],
        "file_systems": list(shape.systems),
        "acls": {  # only the owner may end it; by default only the owner may view it
            "enable": True,
            "view_users": list(shape.view_users),
            "ui_users": list(shape.ui_users),
        },
        "max_attempts": MASTERS,
        "master": {
            "resources": _resources(shape.coordinator),
            "files": {
                LAUNCHER: ours,
                **{name: _file(f"{folder}/{name}") for name in (JOB, HEARTBEAT)},
            },
            "env": dict(shape.coordinator_variables),
            "script": f"{program} coordinator\n",
            "log_level": "WARN",
        },
        "services": {
            role: {
                "instances": 0,
                "max_restarts": 0,
                "allow_failures": True,
                "resources": _resources(resources),
                "files": files,
                "env": carry(shape.variables),
                "script": f"{program} worker --launch={shape.launch} --role={role}"
                f" --advertise={shlex.quote(shape.advertise)}\n",
            }
            for role, resources in shape.roles.items()
        },
    }


def check_fits(shape: Shape, nodes: Mapping[str, Resources]) -> None:
    """Refuse resources that no node has, before YARN is asked for them: NotOffered."""
    if not nodes:
        label = shape.node_label
        raise NotOffered(
            f"no node of the cluster is at work{' that carries that label' if label else ''}",
            expected="a label of the cluster's nodes" if label else "NodeManagers",
            found=label or "none",
            hint="Give another --node-label, or ask who runs the cluster.",
        )
    for asked, flags in (
        *((each, "--memory, --vcores or --gpus") for each in shape.roles.values()),
        (shape.coordinator, "--coordinator-memory"),
    ):
        if not any(asked.fits(node) for node in nodes.values()):
            largest = sorted({str(node) for node in nodes.values()}, key=len)[-3:]
            raise NotOffered(
                "no node of the cluster is that large",
                expected=f"at most {' or '.join(largest)} in a container",
                found=str(asked),
                hint=f"Ask for less with {flags}.",
            )


def write_heartbeat(jar: Path) -> None:
    """Write the jar that sets the interval; it must be on the application master's class path."""
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("hadoop-site.xml", _SITE)


def _archive(uri: str, *, public: bool = False) -> dict[str, Any]:
    kept = not uri.startswith("file:")  # nodes may keep copies of a file that is on the cluster
    whose = "PUBLIC" if public else "PRIVATE"
    return {"source": uri, "type": "ARCHIVE", "visibility": whose if kept else "APPLICATION"}


def _file(source: str) -> dict[str, str]:
    return {"source": source, "type": "FILE", "visibility": "APPLICATION"}


def _resources(asked: Resources) -> dict[str, int]:
    return {"memory": asked.memory_mb, "vcores": asked.vcores, "gpus": asked.gpus}


def carry(variables: Mapping[str, str]) -> dict[str, str]:
    """Encode the variables that YARN would change, for the environment of a container."""
    plain = {
        name: value
        for name, value in variables.items()
        if name.startswith(_RUNTIME) or (name not in ONLY_OURS and _PLAIN.fullmatch(value))
    }
    wrapped = {name: value for name, value in variables.items() if name not in plain}
    if not wrapped:
        return plain
    return {**plain, CARRIED: base64.b64encode(json.dumps(wrapped).encode()).decode()}


def unwrap(variables: Mapping[str, str]) -> dict[str, str]:
    """Decode the command's variables from the environment of its container."""
    found = {name: value for name, value in variables.items() if name not in ONLY_OURS}
    wrapped: dict[str, str] = json.loads(base64.b64decode(found.pop(CARRIED, "")) or "{}")
    return found | wrapped


def docker_variables(
    image: str | None, mounts: Sequence[str], network: str | None
) -> dict[str, str]:
    """Return the variables that start a container in a Docker image; {} without an image.

    A mount, `SOURCE:DESTINATION`, is read-only by default.
    """
    if image is None:
        return {}
    found = {f"{_RUNTIME}TYPE": "docker", f"{PREFIX}IMAGE": image}
    if mounts:
        whole = (m if m.endswith((":ro", ":rw")) else f"{m}:ro" for m in mounts)
        found[f"{PREFIX}MOUNTS"] = ",".join(whole)
    if network is not None:
        found[f"{PREFIX}CONTAINER_NETWORK"] = network
    return found
