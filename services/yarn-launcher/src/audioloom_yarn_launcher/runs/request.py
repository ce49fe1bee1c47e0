"""The request of a user: the settings of `run`, read as the specification of a run."""

import itertools
import math
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from audioloom_manifest.layout import FOLDERS
from audioloom_stage.errors import Usage
from audioloom_stage.redaction import redact_words
from audioloom_storage import locate

from audioloom_yarn_launcher.rendezvous.limits import Limits, Resources, mebibytes
from audioloom_yarn_launcher.runs.command_identity import digest_name, shown
from audioloom_yarn_launcher.runs.job_file import read_roles
from audioloom_yarn_launcher.runs.run_spec import IN_CONTAINER, RunSpec
from audioloom_yarn_launcher.settings import ResourceSettings, RunSettings
from audioloom_yarn_launcher.yarn.application_spec import Shape

REGISTRATION_S, REGISTRATION_ON_YARN_S, ALLOCATION_S = 60.0, 600.0, 600.0


def read_run_spec(settings: RunSettings) -> RunSpec:
    """Read the run that the settings of `run` describe; raises as `read_roles` too.

    Usage if a program cannot be found or executed, or a command holds a secret.
    """
    command, roles, tables = read_roles(settings)
    _check_commands(settings, [command, *(group.command for group in roles if group.command)])
    for group in roles:
        if redact_words(group.command) != group.command:
            raise Usage(
                f"the command of the role {group.role} holds a secret, and would be recorded",
                expected="secrets in variables: run --env NAME",
                found=shown(redact_words(group.command)),
                where=settings.job or "",
            )
    name = settings.name or digest_name(command, roles)
    on_yarn = settings.on == "yarn"
    worker = worker_resources(settings)
    return RunSpec(
        name=name,
        named_by_hand=settings.name is not None,
        folder=(locate(settings.root) / FOLDERS["training-run"] / name).uri,
        command=command,
        working_folder=IN_CONTAINER if on_yarn else str(Path.cwd()),
        roles=roles,
        resources={
            group.role: tables[group.role].resources(worker) if group.role in tables else worker
            for group in roles
        },
        on=settings.on,
        limits=Limits(
            settings.timeout_registration
            or (REGISTRATION_ON_YARN_S if on_yarn else REGISTRATION_S),
            (settings.timeout_allocation or ALLOCATION_S) if on_yarn else math.inf,
            settings.timeout_execution or math.inf,
        ),
        frozen_s=settings.timeout_frozen,
        max_restarts=settings.max_restarts,
        wait=settings.wait,
        take_over=settings.take_over,
    )


def worker_resources(settings: ResourceSettings) -> Resources:
    """Return the resources of a worker's container."""
    return Resources(mebibytes(settings.memory), settings.vcores, settings.gpus)


def application_shape(settings: ResourceSettings, **more: Any) -> Shape:
    """Return the shape of an application by the settings that `run` and `doctor` share."""
    return Shape(
        queue=settings.queue,
        node_label=settings.node_label,
        coordinator=Resources(mebibytes(settings.coordinator_memory), 1),
        coordinator_variables=read_variables(settings.coordinator_env, os.environ),
        **more,
    )


def read_variables(given: Iterable[str], here: Mapping[str, str]) -> dict[str, str]:
    """Parse variables NAME=VALUE; NAME alone is taken from *here*, or is a Usage error."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals and name not in here:
            raise Usage(
                "a variable that is to be passed on is not set",
                expected=f"{name}=VALUE, or {name} in the environment of this program",
                found=f"{name} alone",
            )
        found[name] = value if equals else here[name]
    return found


def _check_commands(settings: RunSettings, commands: list[tuple[str, ...]]) -> None:
    for word in itertools.chain(*commands):
        try:
            word.encode()
        except UnicodeEncodeError as error:  # bytes that are not UTF-8
            raise Usage(
                "a word of the command cannot be recorded",
                expected="UTF-8",
                found=ascii(word),
                hint="Rename the file, or give a link to it.",
            ) from error
    for program in (command[0] for command in commands if settings.on == "local"):
        if shutil.which(program) is None:
            there = Path(program).is_file()
            raise Usage(
                "the command cannot be run",
                expected="an executable program",
                found="a file that is not executable" if there else "no such program",
                where=program,
                hint="Give the whole path of a program, after `--`.",
            )
