"""The identity of a run's command, which names a run and decides whether a folder belongs to it.

Secrets do not count, because they change. A masked word that may be a setting counts for the name,
as a digest that does not reveal the word, because everybody sees names.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from audioloom_stage.errors import NameTaken
from audioloom_stage.escapes import shortened
from audioloom_stage.redaction import MASK, redact_words

from audioloom_yarn_launcher.rendezvous.roles import TENSORBOARD, Group
from audioloom_yarn_launcher.runs.attempts import Attempt
from audioloom_yarn_launcher.runs.run_spec import RunSpec

NAME_DIGITS = 16


def digest_name(command: tuple[str, ...], roles: tuple[Group, ...] = ()) -> str:
    """Derive the name of a run without --name, for any number of workers and any backend.

    The program counts by its name without its folder, and a role by its own command.
    """
    comparable = _comparable(command)
    words = ["audioloom-yarn-launcher run", *comparable]
    perhaps_settings = redact_words(command, passwords_only=True)[1:]
    if [*perhaps_settings] != comparable[1:]:
        data = json.dumps(perhaps_settings).encode()
        digest = hashlib.scrypt(data, salt=b"audioloom run", n=1 << 14, r=8, p=1, dklen=16)
        words.append(digest.hex())
    if others := _commands_of(roles):
        words.append(json.dumps(others, sort_keys=True))
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:NAME_DIGITS]


def check_same(spec: RunSpec, attempts: Sequence[Attempt]) -> None:
    """Refuse a run folder of another command, or with a manifest and no record: NameTaken."""
    if not attempts:
        if spec.named_by_hand and spec.committed:
            raise _another(
                "the run of that name was committed without the launcher",
                "a run that this command was started in before",
                "a manifest and no record of a command",
                spec,
            )
        return
    before = attempts[0].started
    if _commands_of(before.roles) != _commands_of(spec.roles):
        raise _another(
            "the run of that name has other commands for its roles",
            _commands_of(spec.roles) or "one command for all",
            _commands_of(before.roles) or "one command for all",
            spec,
        )
    words, mine = _comparable(before.command), _comparable(spec.command)
    if len(words) != len(mine) or not all(map(_fits, words, mine)):
        text = "the run of that name belongs to another command"
        raise _another(text, shown(spec.shown), shown(before.command), spec)
    moved = before.working_folder != spec.working_folder
    folders = (spec.working_folder, before.working_folder)
    if moved and (argument := _relative_path(spec.command[1:], folders)):
        raise NameTaken(
            f"{argument} is another file than when this run was begun",
            where=spec.location,
            expected=f"the working folder {before.working_folder}",
            found=f"the working folder {spec.working_folder}",
            hint="Give whole paths in the command, or another --name.",
        )


def _another(text: str, expected: object, found: object, spec: RunSpec) -> NameTaken:
    hint = "Give another --name, or none."
    return NameTaken(text, where=spec.location, expected=expected, found=found, hint=hint)


def shown(command: tuple[str, ...], limit: int = 300) -> str:
    """Format a command on one line of at most *limit* characters."""
    return shortened(" ".join(command), limit)


def _comparable(command: tuple[str, ...]) -> list[str]:
    program, *words = redact_words(command)
    return [Path(program).name, *words]


def _fits(before: str, now: str) -> bool:
    """Return whether two words are equal as far as neither of them is masked."""
    for one, other in ((before, now), (now, before)):
        start, mask, _ = one.partition(MASK)
        if mask and other.startswith(start):
            return True
    return before == now


def _commands_of(roles: tuple[Group, ...]) -> dict[str, list[str]]:
    """Return the roles' own commands, without TensorBoard's, which changes nothing in the run."""
    return {
        group.role: _comparable(group.command)
        for group in roles
        if group.command and group.role != TENSORBOARD
    }


def _relative_path(arguments: Sequence[str], folders: Sequence[str]) -> str | None:
    """Return the first argument that names a file relative to one of the folders."""
    for argument in arguments:
        path = argument.rpartition("=")[2] if argument.startswith("-") else argument
        if not path or Path(path).is_absolute():
            continue
        if any((Path(folder) / path).exists() for folder in folders):
            return path
    return None
