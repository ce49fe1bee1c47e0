"""The job file: the roles of a run, in TOML, for what flags cannot say.

    command = ["python", "train.py"]     # of every role that names none

    [roles.chief]
    memory = "8 GiB"

    [roles.worker]
    instances = 3

    [roles.evaluator]
    command = ["python", "evaluate.py"]

    [roles.tensorboard]

What a role does not say of its containers, it has from the flags (`--memory`, `--vcores`,
`--gpus`); what the command line says is stronger than the file: COMMAND than the command of all,
`--workers` than the instances of `worker`.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from audioloom_yarn_launcher.errors import BadJob, NoJob
from audioloom_yarn_launcher.rendezvous.roles import (
    CHIEF,
    PS,
    ROLES,
    SIDECARS,
    TENSORBOARD,
    WORKER,
)
from audioloom_yarn_launcher.settings import Memory

MAX_RESTARTS = 3
TENSORBOARD_COMMAND = ("tensorboard", "--logdir={events}", "--host={host}", "--port={port}")
"""What is in braces is filled in where it runs; in any other command of that role, too."""

Command = Annotated[tuple[str, ...], Field(min_length=1)]


class RoleTable(BaseModel):
    """One role.

    Args:
        instances: how many; there is one chief at most, and one TensorBoard.
        command: what they run.
        memory: of each one's container.
        vcores: of the same.
        gpus: of the same.
        must_finish: the job is not done before they are. Not so for ps and tensorboard.
        may_fail: the job goes on without them. So for evaluator and tensorboard.
        ends_job: when they have finished well, the job is done, whoever else is at work.
        max_restarts: how often one of them is started anew by itself; only for those two.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instances: int = Field(1, ge=1, le=10_000)
    command: Command | None = None
    memory: Memory | None = None
    vcores: int | None = Field(None, ge=1)
    gpus: int | None = Field(None, ge=0)
    must_finish: bool | None = None
    may_fail: bool | None = None
    ends_job: bool = False
    max_restarts: int | None = Field(None, ge=0)


class JobFile(BaseModel):
    """What a job file says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Command | None = None
    roles: dict[str, RoleTable] = Field(min_length=1)

    @model_validator(mode="after")
    def _makes_sense(self) -> JobFile:
        for name in self.roles:
            if name not in ROLES:
                raise ValueError(f"there is no role {name}{_nearest(name, ROLES)}")
        if not {CHIEF, WORKER} & self.roles.keys():
            raise ValueError("nobody is there to do the work: add a chief or a worker")
        if CHIEF in self.roles and self.roles[CHIEF].instances > 1:
            raise ValueError("there is one chief at most")
        if TENSORBOARD in self.roles and self.roles[TENSORBOARD].instances > 1:
            raise ValueError("there is one tensorboard at most")
        for name, role in self.roles.items():
            if role.max_restarts is not None and name not in SIDECARS:
                raise ValueError(f"{name} is started anew with its gang: --max-restarts")
        if not any(decides(name, role) for name, role in self.roles.items()):
            raise ValueError("nobody must finish, and nobody ends the job: it would never be done")
        return self


def must_finish(name: str, role: RoleTable) -> bool:
    """Whether the job waits for this role."""
    return name not in (PS, TENSORBOARD) if role.must_finish is None else role.must_finish


def may_fail(name: str, role: RoleTable) -> bool:
    """Whether the job goes on without this role."""
    return name in SIDECARS if role.may_fail is None else role.may_fail


def max_restarts(name: str, role: RoleTable) -> int:
    """How often one of this role is started anew by itself."""
    if name not in SIDECARS:
        return 0
    return MAX_RESTARTS if role.max_restarts is None else role.max_restarts


def decides(name: str, role: RoleTable) -> bool:
    """Whether the job is ever done by what this role does."""
    return must_finish(name, role) or role.ends_job


def read_job_file(path: Path) -> JobFile:
    """The job in a file.

    Raises:
        NoJob: there is no such file.
        BadJob: it is not TOML, has a key that nobody knows, or asks for what makes no sense.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NoJob("there is no such job file", where=path) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadJob(expected="a TOML file", found=str(error), where=path) from error
    try:
        return JobFile.model_validate(data)
    except ValidationError as error:
        raise _told(error, path) from error


def _told(error: ValidationError, path: Path) -> BadJob:
    first: Any = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    where = f"{path} {place}".rstrip()
    if first["type"] == "extra_forbidden":
        key, known = str(first["loc"][-1]), RoleTable if len(first["loc"]) > 1 else JobFile
        near = _nearest(key, known.model_fields)
        return BadJob(f"unknown key {key}{near}", where=where)
    message = str(first["msg"]).removeprefix("Value error, ")
    return BadJob(message, where=where, found=repr(first["input"]) if place else None)


def _nearest(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
