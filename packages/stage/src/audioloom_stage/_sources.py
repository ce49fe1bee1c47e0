"""Read settings: flags win over variables, variables over the TOML file, the file over defaults.

pydantic-settings does not fit: it merges the sources before it validates, so an error could not
name the wrong flag, variable or key. It also skips a missing configuration file, never looks at a
misspelt variable, and cannot share one TOML table among the commands of a stage.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from audioloom_stage._options import Option, prefix
from audioloom_stage.errors import BadConfiguration, InputMissing, StageError, Usage
from audioloom_stage.escapes import shortened
from audioloom_stage.redaction import redact_values

if TYPE_CHECKING:
    from audioloom_stage.app import Declaration  # a command, which is called by way of this module


@dataclass(frozen=True)
class Given:
    """One value and the place it was written: a flag, a variable or a key of the file."""

    value: object
    where: str
    by_flag: bool


def read_settings(
    job: Declaration, flags: Mapping[str, Any], environ: Mapping[str, str], config: str | None
) -> BaseModel:
    """Collect the settings of one command and check them.

    The file serves all stages, and with the variables every command of the stage: their tables
    and keys are no mistakes. A flag that was not given is None or empty.

    Raises:
        Usage: a flag is wrong, or a setting is required and given nowhere.
        BadConfiguration: a variable or the file is wrong.
        InputMissing: there is no such file.
    """
    given = {} if config is None else _from_file(Path(config), job)
    given |= _from_variables(environ, job)
    given |= _from_flags(flags, job.declared)
    try:
        return job.settings.model_validate({name: each.value for name, each in given.items()})
    except ValidationError as error:
        raise _explain(error, job.declared, given, job.app.stage) from error


def _from_flags(flags: Mapping[str, Any], declared: Sequence[Option]) -> dict[str, Given]:
    given = {}
    for option in declared:
        value = flags.get(option.name)
        if value is None or value == []:
            continue
        try:
            made = option.parse(value) if isinstance(value, str) else value
            made = option.gather(value) if isinstance(value, list) else made
        except ValueError as error:
            raise Usage(str(error), where=option.shown) from error
        given[option.name] = Given(made, option.shown, by_flag=True)
    return given


def _from_variables(environ: Mapping[str, str], job: Declaration) -> dict[str, Given]:
    start = prefix(job.app.stage)
    allowed = {name.upper() for name in job.app.known}
    for variable in sorted(environ):
        name = variable.removeprefix(start)
        if name != variable and name not in allowed:
            raise BadConfiguration(
                f"no setting of {job.app.stage} has the variable {variable}",
                where="the environment",
                hint=did_you_mean(name, allowed, start) or f"unset {variable}",
            )
    given = {}
    for option in job.declared:
        text = environ.get(option.variable, "") if option.variable else ""
        if not text:  # an empty variable counts as not set, as in the shell
            continue
        try:
            value = option.parse(text)
        except ValueError as error:
            raise BadConfiguration(str(error), where=f"the variable {option.variable}") from error
        given[option.name] = Given(value, f"the variable {option.variable}", by_flag=False)
    return given


def _from_file(path: Path, job: Declaration) -> dict[str, Given]:
    stage, known = job.app.stage, job.app.known
    whole = _read_toml(path)
    tables = dict.fromkeys([*job.app.stages, stage])
    for name, table in whole.items():
        if name not in tables:
            kind = "table" if isinstance(table, dict) else "key outside a table:"
            raise BadConfiguration(
                f"unknown {kind} {name}",
                expected="one table for each stage: " + ", ".join(f"[{each}]" for each in tables),
                where=path,
                hint=did_you_mean(name, tables),
            )
    table = whole.get(stage, {})
    if not isinstance(table, dict):
        raise BadConfiguration(expected=f"a table [{stage}]", found=repr(table), where=path)
    for key in table:
        if key not in known:
            raise BadConfiguration(
                f"no setting of {stage} is called {key}",
                where=f"{path} [{stage}]",
                hint=did_you_mean(key, known),
            )
    mine = {option.name for option in job.declared if not option.positional}
    return {
        key: Given(value, f"{path} [{stage}] {key}", by_flag=False)
        for key, value in table.items()
        if key in mine
    }


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputMissing("there is no such configuration file", where=path) from error
    except IsADirectoryError as error:
        raise BadConfiguration(expected="a TOML file", found="a folder", where=path) from error
    except UnicodeDecodeError as error:
        raise BadConfiguration(expected="UTF-8 text", found=str(error), where=path) from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfiguration(f"this is not TOML: {error}", where=path) from error


def did_you_mean(word: str, known: Iterable[str], start: str = "") -> str:
    """Suggest the nearest known word, spelt with *start*; return "" when none is near."""
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean {start}{near[0]}?" if near else ""


def _explain(
    error: ValidationError, declared: Sequence[Option], given: Mapping[str, Given], stage: str
) -> StageError:
    """Turn pydantic's report into one error that names flag, variable or key."""
    by_name = {option.name: option for option in declared}
    together: dict[tuple[Any, ...], list[Any]] = {}
    for report in error.errors(include_url=False, include_context=False):
        # A union reports every member that did not fit; for people that is one mistake.
        depth = 1 + (bool(report["loc"]) and by_name[str(report["loc"][0])].shape in _DEEP)
        together.setdefault(report["loc"][:depth], []).append(report)
    by_flag = any(each.by_flag for each in given.values()) or not given
    of_all = Usage if by_flag else BadConfiguration
    ours = [
        _one(place, reports, by_name, given, stage) if place else of_all(_message(reports[0]))
        for place, reports in together.items()
    ]
    # The caller can correct a wrong flag at once, so a flag decides between exit code 2 and 78.
    first = next((each for each in ours if isinstance(each, Usage)), ours[0])
    if len(ours) == 1:
        return first
    return type(first)(
        f"{len(ours)} settings are wrong", found="\n".join(str(each) for each in ours)
    )


_DEEP = ("many", "pairs")


def _one(
    place: tuple[Any, ...],
    reports: Sequence[Any],
    by_name: Mapping[str, Option],
    given: Mapping[str, Given],
    stage: str,
) -> StageError:
    option = by_name[str(place[0])]
    source = given.get(option.name)
    if source is None:
        return Usage(_required(option, stage))
    kind = Usage if source.by_flag else BadConfiguration
    item = "".join(f", item {at + 1}" if isinstance(at, int) else f", {at}" for at in place[1:])
    value = reports[0]["input"]
    found = "(a secret)" if option.secret else shortened(repr(redact_values(value)), 200)
    messages = [_message(report) for report in reports]
    if not all(each.startswith(_SHOULD) for each in messages):
        return kind("; ".join(messages), found=found, where=source.where + item)
    wanted = [each.removeprefix(_SHOULD).partition(", unable")[0] for each in messages]
    wanted = [f"a value {each}" if each.startswith(_COMPARED) else each for each in wanted]
    return kind(
        expected=" or ".join(dict.fromkeys(wanted)),
        found=found,
        where=source.where + item,
        hint=did_you_mean(str(value), option.choices),
    )


_SHOULD, _COMPARED = "Input should be ", ("greater", "less")


def _message(report: Any) -> str:
    return str(report["msg"]).removeprefix("Value error, ")


def _required(option: Option, stage: str) -> str:
    if option.positional:
        return f"{option.shown} is required: give it on the command line"
    give = "" if option.secret else f"give {option.flag}, "
    return (
        f"{option.name if option.secret else option.shown} is required: {give}set"
        f" {option.variable}, or put {option.name} under [{stage}] in a --config file"
    )
