"""What is asked for: a command, and the run folder that it belongs to."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from audioloom_manifest import FOLDERS, MANIFEST_NAME
from audioloom_stage import MASK, redact_words
from audioloom_storage import Location, exists, locate

from audioloom_yarn_launcher.errors import NoCommand, OtherCommand
from audioloom_yarn_launcher.rendezvous.roles import TENSORBOARD, Group
from audioloom_yarn_launcher.runs.attempts import Attempt
from audioloom_yarn_launcher.runs.role_specs import team_of
from audioloom_yarn_launcher.settings import RunSettings

NAME_DIGITS = 16
IN_CONTAINER = "the container's own"
"""The working folder of a command on a cluster: empty, but for the environment and --files."""


@dataclass(frozen=True)
class Request:
    """A command that is to be run by a gang.

    Args:
        name: of the run.
        named_by_hand: the name does not follow from the command.
        folder: of the run.
        command: program and arguments, as they are run and never shown; see `shown`.
        working_folder: where relative paths in them start, or `IN_CONTAINER`.
        roles: who is called what, and runs what where it is another command.
    """

    name: str
    named_by_hand: bool
    folder: Location
    command: tuple[str, ...]
    working_folder: str
    roles: tuple[Group, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The command as it is recorded and shown: secrets are masked."""
        return redact_words(self.command)

    @property
    def hides_settings(self) -> bool:
        """Whether a word is masked that may be no secret, as in `-p 0.5`: no record shows it."""
        return redact_words(self.command, passwords_only=True) != self.shown

    @property
    def manifest(self) -> Location:
        """Where the command commits, if it does."""
        return self.folder / MANIFEST_NAME

    @property
    def committed(self) -> bool:
        """Whether it has: the manifest's presence is success."""
        return exists(self.manifest)


def read_request(settings: RunSettings) -> Request:
    """The request in the settings of `run`.

    Raises:
        NoCommand: the program cannot be found, or may not be executed.
    """
    team = team_of(settings)
    commands = [team.command, *(group.command for group in team.groups if group.command)]
    for word in itertools.chain(*commands):
        if not _is_text(word):
            raise NoCommand(
                "a word of the command cannot be put on record",
                expected="UTF-8",
                found=ascii(word),
                hint="Rename the file, or give a link to it.",
            )
    for program in (command[0] for command in commands if settings.on == "local"):
        if shutil.which(program) is None:
            there = Path(program).is_file()
            raise NoCommand(
                "the command cannot be run",
                expected="a program that may be executed",
                found="a file that may not" if there else "no such program",
                where=program,
                hint="Give the whole path of a program, after `--`.",
            )
    for group in team.groups:
        if redact_words(group.command) != group.command:
            raise NoCommand(
                f"the command of the role {group.role} holds a secret, and would be put on record",
                expected="secrets in variables: run --env NAME",
                found=_shown(redact_words(group.command)),
                where=settings.job or "",
            )
    name = settings.name or digest_name(team.command, team.groups)
    return Request(
        name=name,
        named_by_hand=settings.name is not None,
        folder=locate(settings.root) / FOLDERS["training-run"] / name,
        command=team.command,
        working_folder=str(Path.cwd()) if settings.on == "local" else IN_CONTAINER,
        roles=team.groups,
    )


def digest_name(command: tuple[str, ...], roles: tuple[Group, ...] = ()) -> str:
    """The name of a run that was not named: the same for any number of workers, on any backend.

    Where the program is installed does not count, only what it is called. Roles count by what
    they run, where it is another command. Passwords do not: they change. What is masked and may be
    something else does, but not so that it can be guessed from a name, which all can see.
    """
    others = _commands_of(roles)
    shown = _comparable(command)
    words = ["audioloom-yarn-launcher run", *shown]
    perhaps = redact_words(command, passwords_only=True)[1:]
    if [*perhaps] != shown[1:]:
        words.append(_fingerprint(perhaps))
    if others:
        words.append(json.dumps(others, sort_keys=True))
    basis = json.dumps(words)
    return hashlib.sha256(basis.encode()).hexdigest()[:NAME_DIGITS]


def check_same(request: Request, attempts: list[Attempt]) -> None:
    """Refuse a run folder that belongs to another command.

    Raises:
        OtherCommand: it does, or it was committed by something that left no record.
    """
    if not attempts:
        if request.named_by_hand and request.committed:
            raise OtherCommand(
                "the run of that name was committed without the launcher",
                where=request.folder,
                expected="a run that this command was started in before",
                found="a manifest and no record of a command",
                hint="Give another --name, or none.",
            )
        return
    before = attempts[0].started
    if _commands_of(before.roles) != _commands_of(request.roles):
        raise OtherCommand(
            "the run of that name was begun with other commands for its roles",
            where=request.folder,
            expected=_commands_of(request.roles) or "one command for all",
            found=_commands_of(before.roles) or "one command for all",
            hint="Give another --name, or none.",
        )
    if not _alike(_comparable(before.command), _comparable(request.command)):
        raise OtherCommand(
            "the run of that name belongs to another command",
            where=request.folder,
            expected=_shown(request.shown),
            found=_shown(before.command),
            hint="Give another --name, or none.",
        )
    moved = before.working_folder != request.working_folder
    if moved and (argument := _relative_path(request, before.working_folder)):
        raise OtherCommand(
            f"{argument} is another file than when this run was begun",
            where=request.folder,
            expected=f"the working folder {before.working_folder}",
            found=f"the working folder {request.working_folder}",
            hint="Give whole paths in the command, or another --name.",
        )


def read_variables(given: Iterable[str], here: Mapping[str, str]) -> dict[str, str]:
    """The variables in words NAME=VALUE; of a NAME alone, the value here.

    Raises:
        NoCommand: it has none here.
    """
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals and name not in here:
            raise NoCommand(
                "a variable that is to be passed on is not set",
                expected=f"{name}=VALUE, or {name} in the environment of this program",
                found=f"{name} alone",
            )
        found[name] = value if equals else here[name]
    return found


def _comparable(command: tuple[str, ...]) -> list[str]:
    """What makes a command the same, on record or as it is given: not the secrets, which change."""
    program, *words = redact_words(command)
    return [Path(program).name, *words]


def _alike(before: list[str], now: list[str]) -> bool:
    """Whether two commands differ in nothing but what is masked in one of them."""
    return len(before) == len(now) and all(map(_fits, before, now))


def _fits(before: str, now: str) -> bool:
    for one, other in ((before, now), (now, before)):
        start, mask, _ = one.partition(MASK)
        if mask and other.startswith(start):
            return True
    return before == now


def _fingerprint(words: tuple[str, ...]) -> str:
    data = json.dumps(words).encode()
    return hashlib.scrypt(data, salt=b"audioloom run", n=1 << 14, r=8, p=1, dklen=16).hex()


def _commands_of(roles: tuple[Group, ...]) -> dict[str, list[str]]:
    """What is run by each role that has a command of its own."""
    return {
        group.role: _comparable(group.command)
        for group in roles
        if group.command and group.role != TENSORBOARD  # it only looks on
    }


def _relative_path(request: Request, before: str) -> str | None:
    """The first argument that names something relative to either working folder."""
    for argument in request.command[1:]:
        path = argument.rpartition("=")[2] if argument.startswith("-") else argument
        if not path or Path(path).is_absolute():
            continue
        if any((Path(folder) / path).exists() for folder in (request.working_folder, before)):
            return path
    return None


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # bytes of a file name, as Python keeps them
        return False
    return True


def _shown(command: tuple[str, ...], limit: int = 300) -> str:
    text = " ".join(command)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
