"""A settings model as a list of options, the source of flags, variables, TOML keys and help."""

import json
import re
import types
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from audioloom_stage.settings import Flag, Positional, Secret
from audioloom_stage.units import Duration, Size

Shape = Literal["switch", "one", "many", "pairs"]

COMMON_FLAGS = frozenset(["--config", "--json", "--log-format", "--verbose", "-v", "--quiet", "-q"])
COMMON_FLAGS |= {"--debug", "--help", "-h", "--help-all"}
"""The flags that every command has already."""

_SEVERAL = (list, tuple, set, frozenset, Sequence)
_WORDS = {bool: "BOOL", int: "INT", float: "NUMBER", str: "TEXT"}


@dataclass(frozen=True)
class Option:
    """One field of a settings model as a command-line option.

    Attributes:
        name: the field, which is also the TOML key.
        shape: a switch (--x/--no-x), one value, many (a repeatable flag) or key=value pairs.
        choices: the allowed words and their values; empty when any value is allowed.
        keys: the keys that pairs may have, for which one flag may name several with commas between
            them; empty when any key is allowed, because then a comma may belong to a value.
        typed_pairs: the values of pairs may be other than text, so 64 is a number.
        variable: the environment variable; "" for a positional, which has none.
        takes: the accepted values, to compare settings that share a variable.
        group: its heading in the help; "" for none.
    """

    name: str
    help: str
    shape: Shape
    metavar: str
    choices: Mapping[str, object]
    keys: tuple[str, ...]
    default: str
    required: bool
    positional: bool
    secret: bool
    typed_pairs: bool
    short: str
    variable: str
    takes: str
    group: str

    @property
    def flag(self) -> str:
        """The long flag, also for an option that has none on the command line (positional, secret).

        The name of a field ends in an underscore if it is a Python keyword; the flag omits it.
        """
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags of the option: none for a positional or a secret, two for a switch."""
        if self.positional or self.secret:
            return ()
        no = f"--no-{self.flag[2:]}" if self.shape == "switch" else ""
        return tuple(flag for flag in (self.short, self.flag, no) if flag)

    @property
    def shown(self) -> str:
        """The name of the option in error messages."""
        if self.positional:
            return self.metavar
        return self.variable if self.secret else self.flag

    def parse(self, text: str) -> object:
        """Convert the text of a variable to a TOML file's value. Pydantic checks it later.

        Many values are separated by commas, or are a JSON list; pairs likewise, or a JSON object.
        Pairs of known keys are those of a flag.
        """
        if self.shape in ("one", "switch"):
            return self.choices.get(text, text)
        whole = _json(text)
        if isinstance(whole, list if self.shape == "many" else dict):
            return whole
        if self.keys:
            return self.gather([text])
        return self.gather([word.strip() for word in text.split(",") if word.strip()])

    def gather(self, words: Sequence[str]) -> object:
        """Combine the values of a flag that was given several times.

        Raises:
            ValueError: a pair without an equals sign, or one key twice.
        """
        if self.shape == "many":
            return [self.choices.get(word, word) for word in words]
        pairs: dict[str, object] = {}
        if self.keys:
            next_key = rf",\s*(?=(?:{'|'.join(map(re.escape, self.keys))})=)"
            words = [pair for word in words for pair in re.split(next_key, word)]
        for word in words:
            key, equals, text = word.partition("=")
            if not (key and equals):
                raise ValueError(f"expected key=value, found {word!r}")
            if key in pairs:
                raise ValueError(f"the key {key!r} is given twice")
            value = _json(text) if self.typed_pairs else None
            pairs[key] = text if value is None else value
        return pairs


def options(model: type[BaseModel], stage: str) -> tuple[Option, ...]:
    """List the options of a settings model: positionals, those of no group, the groups in order.

    Raises:
        TypeError: the model is not frozen, lets unknown fields through, or has a field that
            cannot be written on a command line.
    """
    config = model.model_config
    if not config.get("frozen") or config.get("extra") != "forbid":
        raise TypeError(f"{model.__name__} must be frozen and forbid extra fields: derive Settings")
    groups = _groups(model)
    order = ["", *groups]
    declared = [
        _option(name, model.model_fields[name], stage, groups.get(name, ""))
        for name in sorted(
            model.model_fields, key=lambda name: order.index(name if name in groups else "")
        )
    ]
    places = [option for option in declared if option.positional]
    if any(option.shape == "many" for option in places[:-1]):
        raise TypeError(f"{model.__name__}: a positional that takes several must be the last")
    used = Counter(COMMON_FLAGS)
    used.update(flag for option in declared for flag in option.flags)
    if twice := [flag for flag, count in used.items() if count > 1]:
        raise TypeError(f"{model.__name__}: two options have the flag {twice[0]}")
    return (*places, *(option for option in declared if not option.positional))


def _groups(model: type[BaseModel]) -> dict[str, str]:
    """Return the group of each field, the groups of the class before the groups of its bases."""
    found: dict[str, str] = {}
    for each in model.__mro__:
        for group, names in vars(each).get("groups", {}).items():
            if unknown := set(names.split()) - model.model_fields.keys():
                raise TypeError(f"{model.__name__}: no field of the group {group}: {unknown}")
            found = {**found, **{name: group for name in names.split() if name not in found}}
    return found


def prefix(stage: str) -> str:
    """Return the prefix of the stage's environment variables: `AUDIOLOOM_YARN_LAUNCHER_`."""
    return f"AUDIOLOOM_{stage.upper().replace('-', '_')}_"


def _option(name: str, field: FieldInfo, stage: str, group: str) -> Option:
    place = next((mark for mark in field.metadata if isinstance(mark, Positional)), None)
    short = next((mark.short for mark in field.metadata if isinstance(mark, Flag)), "")
    kind = _bare(field.annotation)
    shape, element = _shape(kind)
    if field.validation_alias or not _is_word(element):
        raise TypeError(f"{name}: a setting is a word, words or key=value pairs, with no alias")
    if place and shape in ("switch", "pairs"):
        raise TypeError(f"{name}: a positional is a word or words")
    choices = _choices(element)
    metavar = _metavar(element)
    if place:
        metavar = place.metavar or name.upper()
    elif shape == "pairs":
        metavar = "KEY=VALUE"
    return Option(
        name=name,
        help=(field.description or "").strip(),
        shape=shape,
        metavar=metavar,
        choices=choices,
        keys=_keys(kind),
        default=_shown_default(field, shape),
        required=field.is_required(),
        positional=place is not None,
        secret=kind is Secret,
        typed_pairs=shape == "pairs" and element is not str,
        short=short,
        variable="" if place else prefix(stage) + name.upper(),
        takes=f"{kind} {[mark for mark in field.metadata if mark != Flag(short)]}",
        group=group,
    )


def _bare(kind: Any) -> Any:
    """Strip Annotated and "or None" from a type, leaving the type of a value."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if _is_union(kind):
        rest = [part for part in get_args(kind) if part is not type(None)]
        return _bare(rest[0]) if len(rest) == 1 else kind
    return kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _shape(kind: Any) -> tuple[Shape, Any]:
    """Return the shape of a type, and the type of its elements."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in _SEVERAL:
        return "many", _bare(inner[0]) if inner else str
    if origin in (dict, Mapping):
        return "pairs", _bare(inner[1]) if inner else str
    return "switch" if kind is bool else "one", kind


def _is_word(kind: Any) -> bool:
    """Return whether a value can be one word, which a value of fields or items cannot."""
    if _is_union(kind):
        return all(_is_word(_bare(part)) for part in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return False
    return _shape(kind)[0] in ("one", "switch")


def _choices(kind: Any) -> Mapping[str, object]:
    if get_origin(kind) is Literal:
        return {str(value): value for value in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(member.value): member for member in kind}
    return {}


def _keys(kind: Any) -> tuple[str, ...]:
    """Return the keys that the pairs of a type may have; none if any, or if it has no pairs."""
    pairs = _shape(kind)[0] == "pairs" and get_args(kind)
    return tuple(_choices(_bare(pairs[0]))) if pairs else ()


def _metavar(kind: Any) -> str:
    if choices := _choices(kind):
        return "|".join(choices)
    if _is_union(kind):
        return "|".join(_metavar(_bare(part)) for part in get_args(kind) if part is not type(None))
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return "PATH"
    return _WORDS.get(kind) or getattr(kind, "__name__", "VALUE").upper()


def _shown_default(field: FieldInfo, shape: Shape) -> str:
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or isinstance(value, Secret):
        return ""
    if shape == "switch":
        return "on" if value else "off"
    if shape == "pairs":
        return " ".join(f"{key}={_word(text)}" for key, text in value.items())
    if shape == "many":
        return " ".join(_word(part) for part in value)
    return value.text if isinstance(value, Size | Duration) else _word(value)


def _word(value: object) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _json(text: str) -> object:
    """Read a JSON value; return None for text that is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None
