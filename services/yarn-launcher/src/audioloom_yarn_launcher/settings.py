"""The settings of each command."""

import shlex
from typing import Annotated, ClassVar, Literal

from audioloom_runs.settings import (
    CheckSettings,
    GcSettings,
    ListSettings,
    RootSettings,
    RunName,
)
from audioloom_stage.settings import Flag, Positional, Settings
from audioloom_stage.units import Duration, Size
from pydantic import AfterValidator, Field, model_validator

from audioloom_yarn_launcher.rendezvous.limits import FROZEN_S
from audioloom_yarn_launcher.system.addresses import check_address
from audioloom_yarn_launcher.yarn.application_spec import PROGRAM

__all__ = ["PROGRAM", "GcSettings", "ListSettings"]  # those of other modules

Memory = Annotated[Size, Field(ge=1 << 20, lt=1 << 50)]
Mount = Annotated[str, Field(pattern=r"^/[^:,\s]*:/[^:,\s]*(:r[ow])?$")]
Address = Annotated[str, AfterValidator(check_address)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(=|$)")]
User = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]+$")]
System = Annotated[str, Field(pattern=r"^hdfs://[^/\s]+/?$")]
Run = Annotated[
    str,
    Positional("RUN"),
    Field(description="Run: its folder, its manifest or the id of its application."),
]


def command_line(*words: object) -> str:
    """Write a command of this program for a shell."""
    return shlex.join([PROGRAM, *map(str, words)])


class KerberosSettings(Settings):
    """How the user logs in."""

    groups: ClassVar = {"Kerberos": "keytab principal"}

    keytab: str | None = Field(None, description="Keytab to log in with, without a ticket.")
    principal: str | None = Field(None, description="Kerberos principal of the keytab.")


class ResourceSettings(Settings):
    """What a worker and the application master are given on a cluster."""

    groups: ClassVar = {
        "Cluster (--on yarn)": (
            "queue memory vcores gpus node_label environment coordinator_memory coordinator_env"
        ),
    }

    workers: int = Field(1, ge=1, le=10_000, description="Number of workers.")
    queue: str = Field("default", description="YARN queue.")
    memory: Memory = Field(Size(2 << 30), description="Memory of a worker: 4096MiB, 4GiB.")
    vcores: int = Field(1, ge=1, description="Virtual cores of a worker.")
    gpus: int = Field(0, ge=0, description="GPUs of a worker.")
    node_label: str = Field("", description="Node label. Default: nodes of any label.")
    environment: str | None = Field(
        None, description="Archive of the command's environment, from `env pack` or conda-pack."
    )
    coordinator_memory: Memory = Field(
        Size(768 << 20), description="Memory of the application master and its coordinator."
    )
    coordinator_env: tuple[Variable, ...] = Field(
        (), description="NAME=VALUE for the application master, such as JAVA_HOME."
    )


class RunSettings(RootSettings, ResourceSettings, KerberosSettings):
    """What `run` is asked to do."""

    groups: ClassVar = {
        "Workers": "workers chief job advertise",
        "Restarts and timeouts": (
            "max_restarts timeout_start timeout_allocation timeout_registration timeout_frozen"
            " timeout_execution"
        ),
        "Waiting": "wait detach take_over",
        "Cluster (--on yarn)": (
            "queue memory vcores gpus node_label environment python files env file_system"
            " coordinator_memory coordinator_env view_users ui_users"
        ),
        "Docker (--on yarn)": "docker_image docker_mount docker_network",
    }

    command: Annotated[tuple[str, ...], Positional("COMMAND")] = Field(
        (), description="Program of every worker with its arguments, after --."
    )
    name: RunName | None = Field(None, description="Name of the run. Default: a digest.")
    on: Literal["local", "yarn"] = Field("local", description="Where the workers run.")
    chief: bool = Field(
        default=False, description="Call the first worker `chief` in TF_CONFIG, as tf-yarn does."
    )
    job: str | None = Field(None, description="Job file (TOML) with roles, commands and resources.")
    advertise: Address | None = Field(
        None,
        description="Address or network of the workers: 10.0.0.0/8, {node} or {fqdn}.",
    )
    max_restarts: int = Field(1, ge=0, description="Restarts of the gang after failures.")
    timeout_start: Duration | None = Field(
        None, gt=0, description="Time for the application master to start. Default: no limit."
    )
    timeout_allocation: Duration | None = Field(
        None, gt=0, description="Time for YARN to allocate all containers. Default: 10m."
    )
    timeout_registration: Duration | None = Field(
        None, gt=0, description="Time for all workers to register. Default: 60s, on yarn 10m."
    )
    timeout_frozen: Duration = Field(
        Duration(FROZEN_S), gt=0, description="Replace a worker without heartbeats for this."
    )
    timeout_execution: Duration | None = Field(
        None, gt=0, description="Time for the gang's work in all attempts. Default: no limit."
    )
    wait: bool = Field(
        default=True, description="Wait for another launcher of this run, or refuse."
    )
    detach: bool = Field(
        default=False, description="Return once the run has begun on YARN; it continues."
    )
    take_over: int | None = Field(
        None, ge=1, description="Attempt to take over from a launcher that is gone."
    )
    python: str | None = Field(
        None,
        pattern=r"^/[^:]+$",
        description="Python on the nodes, instead of --environment: its path.",
    )
    files: tuple[str, ...] = Field(
        (), description="File or folder to copy into each worker's working folder."
    )
    env: tuple[Variable, ...] = Field(
        (), description="NAME=VALUE for the command; NAME alone passes a secret from here."
    )
    file_system: tuple[System, ...] = Field(
        (), description="Another HDFS that the command uses: hdfs://name."
    )
    view_users: tuple[User, ...] = Field(
        (), description="User who may see the application and its logs."
    )
    ui_users: tuple[User, ...] = Field(
        (), description="User who may see the application's web page."
    )
    docker_image: str | None = Field(
        None, pattern=r"^[^\s,]+$", description="Docker image of the workers."
    )
    docker_mount: tuple[Mount, ...] = Field(
        (), description="SOURCE:DESTINATION of a mounted folder; read-only without :rw."
    )
    docker_network: str | None = Field(
        None, pattern=r"^[^\s,]+$", description="Docker network, such as host."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "RunSettings":
        if not self.command and self.job is None:
            raise ValueError("COMMAND is required: give it after --, or in a --job file")
        if self.chief and self.job is not None:
            raise ValueError("--chief and --job exclude each other: name the chief in the file")
        if self.python is not None and self.environment is not None:
            raise ValueError("--python and --environment exclude each other: give one")
        if self.docker_image is None and (self.docker_mount or self.docker_network):
            raise ValueError("--docker-mount and --docker-network need a --docker-image")
        return self


class DoctorSettings(CheckSettings, ResourceSettings, KerberosSettings):
    """What `doctor` is asked to look at: the flags of the run that is planned."""

    planned_duration: Duration | None = Field(
        None, gt=0, description="Planned duration of the run, compared with its tokens' life."
    )
    probe: bool = Field(
        default=True, description="Test a container on a node: storage, environment, Python."
    )


class PackSettings(RootSettings):
    """What `env pack` is asked to build."""

    groups: ClassVar = {
        "Contents": "requirements wheels project extra with_ python_version",
    }

    requirements: str | None = Field(
        None, description="File that pins every distribution, as `uv export` writes it."
    )
    wheels: str | None = Field(
        None, description="Folder of the wheels to install. Default: the package index."
    )
    project: str | None = Field(None, description="Folder of a uv project with its lock file.")
    extra: tuple[str, ...] = Field((), description="Extra of the project, such as cpu.")
    with_: tuple[str, ...] = Field(
        (), description="Additional package: a wheel, a project's folder or name==version."
    )
    python_version: str = Field("3.11", description="Python version.", pattern=r"^3\.[0-9]+")
    public: bool = Field(
        default=False, description="Let every user of the cluster read the archive."
    )


class RunOnlySettings(Settings):
    """Settings of a command about one run."""

    run: Run


class StatusSettings(RunOnlySettings):
    """What `status` is asked to show."""

    follow: Annotated[bool, Flag("-f")] = Field(
        default=False, description="Show the status until the run ends, or Ctrl-C."
    )


class KillSettings(RunOnlySettings, KerberosSettings):
    """What `kill` is asked to end."""


class LogsSettings(RunOnlySettings):
    """What `logs` is asked to show."""

    rank: int | None = Field(None, ge=0, description="Rank of the worker. Default: all workers.")
    attempt: int | None = Field(
        None, ge=1, description="Number of the attempt. Default: the last one."
    )
    follow: Annotated[bool, Flag("-f")] = Field(
        default=False, description="Show new lines until the run ends."
    )
