"""The settings of each command."""

from __future__ import annotations

from typing import Annotated, Literal

from audioloom_stage import Flag, Positional, Settings
from pydantic import AfterValidator, Field, model_validator

from audioloom_yarn_launcher.rendezvous.messages import FROZEN_S
from audioloom_yarn_launcher.system.addresses import check_address

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
Memory = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8} ?[MG]iB$")]
Mount = Annotated[str, Field(pattern=r"^/[^:,\s]*:/[^:,\s]*(:r[ow])?$")]
Address = Annotated[str, AfterValidator(check_address)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(=|$)")]
User = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]+$")]
System = Annotated[str, Field(pattern=r"^hdfs://[^/\s]+/?$")]
Run = Annotated[
    str,
    Positional("RUN"),
    Field(description="The run: its folder, the manifest in it, or the id of its application."),
]


class RunSettings(Settings):
    """What `run` is asked to do."""

    command: Annotated[tuple[str, ...], Positional("COMMAND")] = Field(
        (), description="The program that every worker runs, and its arguments, after --."
    )
    root: str = Field(description="Where runs lie: the run folder is <root>/runs/<name>.")
    on: Literal["local", "yarn"] = Field("local", description="Where the workers run.")
    workers: int = Field(1, ge=1, le=10_000, description="How many workers.")
    chief: bool = Field(
        default=False,
        description="Call the first worker `chief` in TF_CONFIG, and number the others from 0.",
    )
    job: str | None = Field(
        None,
        description="A job file (TOML): roles (chief, worker, ps, evaluator, tensorboard), each"
        " with instances, command, memory, vcores, gpus, must_finish, may_fail, ends_job,"
        " max_restarts. The command line is stronger than what it says of all.",
    )
    name: Name | None = Field(
        None, description="Name of the run; otherwise a digest of the command."
    )
    timeout_registration: float | None = Field(
        None,
        gt=0,
        description="Seconds within which all workers must have come, from when all of them have a"
        " container; here, from their start. Default: 60, on yarn 600.",
    )
    timeout_execution: float | None = Field(
        None,
        gt=0,
        description="Seconds for which the gang may work, over all its attempts; waiting does not"
        " count. Then it is ended, with 75: the same command goes on. Default: no limit.",
    )
    max_restarts: int = Field(
        1, ge=0, description="How often the gang is started anew after a failure."
    )
    timeout_frozen: float = Field(
        FROZEN_S,
        gt=0,
        description="Seconds after which a worker that says nothing is taken for frozen, and"
        " replaced; a process of the command that is stopped (SIGSTOP), after half as many.",
    )
    max_resubmissions: int = Field(
        1,
        ge=0,
        description="(yarn) How often another application is submitted in the place of one that was"
        " lost with all its masters, by a launcher that waits for its end.",
    )
    advertise: Address | None = Field(
        None,
        description="Host name or address under which the workers reach each other, or the network"
        " in which each has one: 10.0.0.0/8. On yarn {node} stands for the node's name in YARN,"
        " {hostname} and {fqdn} for its own. Default: 127.0.0.1, on yarn {node}.",
    )
    wait: bool = Field(
        default=True,
        description="If another launcher is at work on this run, wait for it; otherwise refuse.",
    )
    take_over: int | None = Field(
        None,
        ge=1,
        description="Number of an attempt whose launcher is gone, where that cannot be seen from"
        " here: another machine, another container.",
    )

    detach: bool = Field(
        default=False,
        description="(yarn) Return when the run has begun, or has waited a minute; it goes on.",
    )
    timeout_start: float | None = Field(
        None,
        gt=0,
        description="(yarn) Seconds within which YARN must have started the application master."
        " Default: no limit.",
    )
    timeout_allocation: float | None = Field(
        None,
        gt=0,
        description="(yarn) Seconds within which YARN must have given all containers, and by chance"
        " up to a quarter more; otherwise those that it has given are given back. Default: 600.",
    )
    queue: str = Field("default", description="(yarn) Queue to run in.")
    memory: Memory = Field("2 GiB", description="(yarn) Memory of a worker: 4096 MiB, 4 GiB.")
    vcores: int = Field(1, ge=1, description="(yarn) Virtual cores of a worker.")
    gpus: int = Field(0, ge=0, description="(yarn) GPUs of a worker.")
    node_label: str = Field("", description="(yarn) Only nodes with this label.")
    environment: str | None = Field(
        None,
        description="(yarn) Archive of the command's environment, .tar.gz or .zip: a path or"
        " hdfs://…; `env pack` makes one, conda-pack another. Its bin comes first on the PATH.",
    )
    python: str | None = Field(
        None,
        pattern=r"^/[^:]+$",
        description="(yarn) A Python that the nodes have, instead of --environment: its path there."
        " Its folder comes first on the PATH; where there is none, nothing else is taken.",
    )
    files: tuple[str, ...] = Field(
        (),
        description="(yarn) Files, and folders of this machine such as a package of yours, for each"
        " worker's working folder, under their own names.",
    )
    env: tuple[Variable, ...] = Field(
        (),
        description="(yarn) NAME=VALUE for the command and its container (Docker's too). NAME alone"
        " takes the value from here, and shows it to nobody: for secrets.",
    )
    docker_image: str | None = Field(
        None,
        pattern=r"^[^\s,]+$",
        description="(yarn) Docker image that the workers run in, on nodes that are set up for it.",
    )
    docker_mount: tuple[Mount, ...] = Field(
        (),
        description="(yarn) SOURCE:DESTINATION, a folder of the node in the image; read-only, if it"
        " does not end in :rw.",
    )
    docker_network: str | None = Field(
        None, pattern=r"^[^\s,]+$", description="(yarn) Docker network, such as host."
    )
    coordinator_memory: Memory = Field(
        "768 MiB", description="(yarn) Memory of the application master and the coordinator in it."
    )
    coordinator_env: tuple[Variable, ...] = Field(
        (),
        description="(yarn) NAME=VALUE for the application master, which is a Java program:"
        " JAVA_HOME, where the nodes have several.",
    )
    file_system: tuple[System, ...] = Field(
        (),
        description="(yarn) Another HDFS that the command uses, hdfs://name, for a token of it."
        " Those that the root, --environment, --files, --env and the command name are known.",
    )
    view_users: tuple[User, ...] = Field(
        (), description="(yarn) Who else may look at the application in YARN, and at its logs."
    )
    ui_users: tuple[User, ...] = Field(
        (), description="(yarn) Who else may look at the application's web page."
    )
    keytab: str | None = Field(None, description="(yarn) Keytab to log in by, without a ticket.")
    principal: str | None = Field(None, description="(yarn) Whom the keytab is of.")

    @model_validator(mode="after")
    def _fits_together(self) -> RunSettings:
        if not self.command and self.job is None:
            raise ValueError("COMMAND is required: give it after --, or in a --job file")
        if self.chief and self.job is not None:
            raise ValueError("--chief and --job exclude each other: name the chief in the file")
        if self.python is not None and self.environment is not None:
            raise ValueError("--python and --environment exclude each other: give one")
        if self.docker_image is None and (self.docker_mount or self.docker_network):
            raise ValueError("--docker-mount and --docker-network need a --docker-image")
        return self


class DoctorSettings(Settings):
    """What `doctor` is asked to look at: the flags of the run that is planned."""

    root: str = Field(description="Where runs will lie.")
    workers: int = Field(1, ge=1, le=10_000, description="How many workers.")
    queue: str = Field("default", description="Queue to run in.")
    memory: Memory = Field("2 GiB", description="Memory of a worker: 4096 MiB, 4 GiB.")
    vcores: int = Field(1, ge=1, description="Virtual cores of a worker.")
    gpus: int = Field(0, ge=0, description="GPUs of a worker.")
    node_label: str = Field("", description="Only nodes with this label.")
    environment: str | None = Field(None, description="Archive of the command's environment.")
    coordinator_memory: Memory = Field("768 MiB", description="Memory of the application master.")
    coordinator_env: tuple[Variable, ...] = Field(
        (), description="NAME=VALUE for the application master, such as JAVA_HOME."
    )
    keytab: str | None = Field(None, description="Keytab to log in by, without a ticket.")
    principal: str | None = Field(None, description="Whom the keytab is of.")
    planned_hours: float | None = Field(
        None, gt=0, description="How long the run is to take: against the life of its tokens."
    )
    probe: bool = Field(
        default=True,
        description="Send a container to a node, with the launcher (shipped below the root) and"
        " --environment: it reads a file of the root's storage and tells what it found.",
    )


class EnvSettings(Settings):
    """What `env` is asked to do."""

    action: Annotated[Literal["pack", "list", "gc"], Positional("ACTION")] = Field(
        description="pack: make sure that the archive of an environment lies under the root. list:"
        " show those that do, and how many runs use them. gc: find those that no run needs."
    )
    root: str = Field(description="Where they lie: <root>/environments/<digest>.tar.gz.")
    requirements: str | None = Field(
        None, description="File that pins every distribution, as `uv export` or `dist` write it."
    )
    wheels: str | None = Field(
        None, description="Folder of the wheels that they are taken from; otherwise the index."
    )
    project: str | None = Field(
        None, description="Folder of a uv project: its lock, itself and what lies beside it."
    )
    extra: tuple[str, ...] = Field((), description="Extra of the project, such as cpu.")
    with_: tuple[str, ...] = Field(
        (), description="A package of yours: a wheel, a project's folder, or name==version."
    )
    python_version: str = Field("3.11", description="Version of its Python.", pattern=r"^3\.[0-9]+")
    public: bool = Field(
        default=False,
        description="(pack) Let everybody on the cluster read it, so that nodes keep one copy for"
        " all users. Otherwise it is for its owner alone.",
    )
    delete: bool = Field(default=False, description="(gc) Remove what is found.")
    dry_run: bool = Field(
        default=False, description="(gc) Only show what is found; so it is without --delete."
    )
    older_than_hours: float = Field(
        24.0,
        ge=0,
        le=1e6,
        description="(gc) Leave alone what was written later, and what runs use that are younger.",
    )

    @model_validator(mode="after")
    def _of_the_action(self) -> EnvSettings:
        for name in sorted(type(self).model_fields.keys() - _OF_ACTIONS["all"]):
            changed = getattr(self, name) != type(self).model_fields[name].get_default()
            if changed and name not in _OF_ACTIONS[self.action]:
                flag = name.strip("_").replace("_", "-")
                raise ValueError(f"--{flag} is not for env {self.action}")
        if self.delete and self.dry_run:
            raise ValueError("--delete and --dry-run exclude each other: give one")
        return self


_OF_ACTIONS = {
    "all": {"action", "root"},
    "pack": {"requirements", "wheels", "project", "extra", "with_", "python_version", "public"},
    "list": set[str](),
    "gc": {"delete", "dry_run", "older_than_hours"},
}


class StatusSettings(Settings):
    """What `status` is asked to show."""

    run: Run
    follow: Annotated[bool, Flag("-f")] = Field(
        default=False,
        description="Go on showing it, until the run is over, or Ctrl-C (the run goes on).",
    )


class AttachSettings(Settings):
    """What `attach` is asked to wait for."""

    run: Run


class ExplainSettings(Settings):
    """What `explain` is asked to explain."""

    run: Run


class KillSettings(Settings):
    """What `kill` is asked to end."""

    run: Run
    keytab: str | None = Field(None, description="(yarn) Keytab to log in by, without a ticket.")
    principal: str | None = Field(None, description="(yarn) Whom the keytab is of.")


class LogsSettings(Settings):
    """What `logs` is asked to show."""

    run: Run
    rank: int | None = Field(None, ge=0, description="Only this worker's; otherwise all.")
    attempt: int | None = Field(None, ge=1, description="Of this attempt; otherwise the last.")
    follow: Annotated[bool, Flag("-f")] = Field(
        default=False, description="Go on with what is written, until the run is over."
    )
