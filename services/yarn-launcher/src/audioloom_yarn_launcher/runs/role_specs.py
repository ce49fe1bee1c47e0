"""Who is asked for: the roles that flags and the job file say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from audioloom_yarn_launcher.errors import NoCommand
from audioloom_yarn_launcher.rendezvous.roles import (
    CHIEF,
    ROLES,
    TENSORBOARD,
    WORKER,
    Group,
    of_workers,
)
from audioloom_yarn_launcher.runs.job_file import (
    TENSORBOARD_COMMAND,
    JobFile,
    RoleTable,
    max_restarts,
    may_fail,
    must_finish,
    read_job_file,
)
from audioloom_yarn_launcher.settings import RunSettings


@dataclass(frozen=True)
class Team:
    """The gang that is asked for.

    Args:
        command: of those whose role has none of its own.
        groups: the roles, in the order of ranks.
        tables: what the job file says of each role.
    """

    command: tuple[str, ...]
    groups: tuple[Group, ...]
    tables: Mapping[str, RoleTable] = field(default_factory=dict)


def team_of(settings: RunSettings) -> Team:
    """The gang that the settings of `run` ask for.

    Raises:
        NoJob, BadJob: as `read_job_file` says.
        NoCommand: a role has nothing to run, or a number is given of a role that is not there.
    """
    if settings.job is None:
        return Team(settings.command, of_workers(settings.workers, chief=settings.chief))
    file = read_job_file(Path(settings.job))
    command = settings.command or file.command or _of_those_that_train(file)
    for name, role in file.roles.items():
        if not (role.command or command or name == TENSORBOARD):
            raise NoCommand(
                f"the role {name} has nothing to run",
                where=settings.job,
                expected="a command in the file, of all or of the role, or one after --",
                found="none",
            )
    tables = {name: file.roles[name] for name in ROLES if name in file.roles}
    if "workers" in settings.model_fields_set:
        if WORKER not in tables:
            raise NoCommand(
                "--workers is given, and the job has none",
                where=settings.job,
                expected="a table [roles.worker], or no --workers",
                found=f"[roles.{'], [roles.'.join(tables)}]",
            )
        tables[WORKER] = tables[WORKER].model_copy(update={"instances": settings.workers})
    groups = tuple(_group(name, role, command) for name, role in tables.items())
    return Team(command, groups, tables)


def _of_those_that_train(file: JobFile) -> tuple[str, ...]:
    found = (file.roles[name].command for name in (CHIEF, WORKER) if name in file.roles)
    return next(filter(None, found), ())


def _group(name: str, role: RoleTable, command: tuple[str, ...]) -> Group:
    own = role.command or (TENSORBOARD_COMMAND if name == TENSORBOARD else ())
    return Group(
        name,
        role.instances,
        own if own != command else (),
        must_finish=must_finish(name, role),
        may_fail=may_fail(name, role),
        ends_job=role.ends_job,
        max_restarts=max_restarts(name, role),
    )
