"""The job file: the roles of a run, in TOML, beyond what flags can express.

    command = ["python", "train.py"]     # for roles without their own command

    [roles.chief]
    memory = "8 GiB"

    [roles.worker]
    instances = 3

    [roles.evaluator]
    command = ["python", "evaluate.py"]

    [roles.tensorboard]

The flags `--memory`, `--vcores` and `--gpus` are the defaults of every role. The command line
overrides the file: COMMAND the common command, `--workers` the instances of `worker`.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from audioloom_stage.errors import BadConfiguration, InputMissing, Usage
from pydantic import BaseModel, Field, ValidationError, model_validator

from audioloom_yarn_launcher.rendezvous.limits import Resources, mebibytes
from audioloom_yarn_launcher.rendezvous.roles import (
    CHIEF,
    EVALUATOR,
    PS,
    ROLES,
    SIDECARS,
    TENSORBOARD,
    WORKER,
    Group,
    of_workers,
)
from audioloom_yarn_launcher.settings import Memory, RunSettings

TENSORBOARD_COMMAND = ("tensorboard", "--logdir={events}", "--host={host}", "--port={port}")
"""Words in braces are filled in by the agent, also in any other command of that role."""

_DEFAULTS: dict[str, dict[str, Any]] = {
    PS: {"must_finish": False},
    EVALUATOR: {"may_fail": True, "max_restarts": 3},
    TENSORBOARD: {
        "must_finish": False,
        "may_fail": True,
        "max_restarts": 3,
        "command": TENSORBOARD_COMMAND,
    },
}
"""Of the roles that differ from the defaults of `Group`."""

Command = Annotated[tuple[str, ...], Field(min_length=1)]


class RoleTable(BaseModel, frozen=True, extra="forbid"):
    """The table of one role; its keys are as in `Group`, its gaps as for the run or the role."""

    instances: int = Field(1, ge=1, le=10_000)
    command: Command | None = None
    memory: Memory | None = None
    vcores: int | None = Field(None, ge=1)
    gpus: int | None = Field(None, ge=0)
    must_finish: bool = True
    may_fail: bool = False
    ends_job: bool = False
    max_restarts: int = Field(0, ge=0)

    def group(self, role: str, common: tuple[str, ...] = ()) -> Group:
        """Return the workers of this role, which run *common* if it has no command."""
        own = {"command", "must_finish", "may_fail", "ends_job", "max_restarts"}
        given = self.model_dump(include=own, exclude_unset=True)
        group = Group(role, self.instances, **{**_DEFAULTS.get(role, {}), **given})
        return replace(group, command=()) if group.command == common else group

    def resources(self, default: Resources) -> Resources:
        """The resources of each container of the role."""
        return Resources(
            default.memory_mb if self.memory is None else mebibytes(self.memory),
            default.vcores if self.vcores is None else self.vcores,
            default.gpus if self.gpus is None else self.gpus,
        )


class JobFile(BaseModel, frozen=True, extra="forbid"):
    """The content of a job file."""

    command: Command | None = None
    roles: dict[str, RoleTable] = Field(min_length=1)

    @model_validator(mode="after")
    def _makes_sense(self) -> "JobFile":
        for name in self.roles:
            if name not in ROLES:
                raise ValueError(f"there is no role {name}{_nearest(name, ROLES)}")
        if not {CHIEF, WORKER} & self.roles.keys():
            raise ValueError("no role does the work: add a chief or a worker")
        for name in (CHIEF, TENSORBOARD):
            if name in self.roles and self.roles[name].instances > 1:
                raise ValueError(f"there is one {name} at most")
        for name, role in self.roles.items():
            if "max_restarts" in role.model_fields_set and name not in SIDECARS:
                raise ValueError(f"{name} is restarted with its gang: --max-restarts")
        groups = [role.group(name) for name, role in self.roles.items()]
        if not any(group.must_finish or group.ends_job for group in groups):
            raise ValueError("no role must finish and no role ends the job: it would never be done")
        return self


class RoleSpecs(NamedTuple):
    """The common command of a run, its roles in the order of ranks, and their tables."""

    command: tuple[str, ...]
    groups: tuple[Group, ...]
    tables: Mapping[str, RoleTable]


def read_roles(settings: RunSettings) -> RoleSpecs:
    """Read the roles that the settings of `run` describe; raises as `read_job_file` too.

    Raises:
        Usage: a role has no command, or --workers is given for a job without workers.
    """
    if settings.job is None:
        groups = of_workers(settings.workers, chief=settings.chief)
        return RoleSpecs(settings.command, groups, {})
    file = read_job_file(Path(settings.job))
    tables = {name: file.roles[name] for name in ROLES if name in file.roles}
    of_training = (tables[name].command for name in (CHIEF, WORKER) if name in tables)
    command = settings.command or file.command or next(filter(None, of_training), ())
    for name, role in tables.items():
        if not (role.command or command or name == TENSORBOARD):
            raise Usage(
                f"the role {name} has no command",
                where=settings.job,
                expected="a command in the file, for all or for the role, or one after --",
                found="none",
            )
    if "workers" in settings.model_fields_set:
        if WORKER not in tables:
            raise Usage(
                "--workers is given for a job without workers",
                where=settings.job,
                expected="a table [roles.worker], or no --workers",
                found=f"[roles.{'], [roles.'.join(tables)}]",
            )
        tables[WORKER] = tables[WORKER].model_copy(update={"instances": settings.workers})
    groups = tuple(table.group(name, command) for name, table in tables.items())
    return RoleSpecs(command, groups, tables)


def read_job_file(path: Path) -> JobFile:
    """Read a job file; InputMissing without one, BadConfiguration of one that makes no sense."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputMissing("there is no such job file", where=path) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(expected="a TOML file", found=str(error), where=path) from error
    try:
        return JobFile.model_validate(data)
    except ValidationError as error:
        raise _told(error, path) from error


def _told(error: ValidationError, path: Path) -> BadConfiguration:
    first: Any = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    where = f"{path} {place}".rstrip()
    if first["type"] == "extra_forbidden":
        key, known = str(first["loc"][-1]), RoleTable if len(first["loc"]) > 1 else JobFile
        near = _nearest(key, known.model_fields)
        return BadConfiguration(f"unknown key {key}{near}", where=where)
    message = str(first["msg"]).removeprefix("Value error, ")
    return BadConfiguration(message, where=where, found=repr(first["input"]) if place else "")


def _nearest(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
