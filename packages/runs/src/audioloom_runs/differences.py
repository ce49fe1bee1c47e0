"""What differs between two runs of one kind: recipe, code, inputs, environment, result, times.

`why` compares a run that is planned with a finished one, and `audioloom diff` two finished ones.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from audioloom_manifest.envelope import InputRef, Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Plan
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_storage import Location, StorageError
from pydantic import BaseModel

from audioloom_runs.attempts import seconds_of

SECTIONS = ("recipe", "code", "inputs", "environment", "result", "scores", "time")

_CODE = frozenset({"algorithm", "revision", "sha256", "source_sha256"})
"""The last words of the keys of a recipe that stand for code."""
_MOST_OPENED = 20
"""Pairs of inputs that are compared in turn."""


@dataclass(frozen=True)
class Difference:
    """A value that two runs do not share.

    Attributes:
        section: one of `SECTIONS`.
        path: the keys that lead to the value; those of an input begin with its kind.
        before: the value of the first run; None if it has none.
        now: the value of the second run; None if it has none.
    """

    section: str
    path: tuple[str, ...]
    before: Any
    now: Any

    @property
    def key(self) -> str:
        """The keys in one word: `feature.sample_rate`."""
        return ".".join(self.path)


def values_that_differ(section: str, before: object, now: object) -> Iterator[Difference]:
    """Compare two models, or nested mappings, value by value; a list is one value."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    for path in dict.fromkeys((*old, *new)):
        if old.get(path) != new.get(path):
            yield Difference(section, path, old.get(path), new.get(path))


def plan_of(opened: Opened[Any]) -> Plan:
    """Return the plan that a finished run has carried out."""
    found = opened.manifest
    return Plan(found.kind, found.name, opened.folder, found.recipe, found.inputs)


def own_reasons(before: Plan, now: Plan) -> list[Difference]:
    """Return the differences that make two plans two runs: of recipe, code and inputs."""
    found = [
        replace(each, section="code") if each.path[-1] in _CODE else each
        for each in values_that_differ("recipe", before.recipe, now.recipe)
    ]
    for kind, old, new in _pairs(before.inputs, now.inputs):
        found.append(Difference("inputs", (kind,), _named(old), _named(new)))
    return sorted(found, key=lambda each: SECTIONS.index(each.section))


def reasons(before: Plan, now: Plan) -> Iterator[Difference]:
    """Yield `own_reasons`, then those of the inputs that differ, of their inputs, and so on.

    An input that is not there any more, or was made anew since, is not followed.
    """
    waiting: deque[tuple[tuple[str, ...], Plan, Plan]] = deque([((), before, now)])
    followed = 0
    while waiting:
        above, old, new = waiting.popleft()
        yield from (_below(above, each) if above else each for each in own_reasons(old, new))
        for kind, one, other in _pairs(old.inputs, new.inputs):
            if one is None or other is None or followed == _MOST_OPENED:
                continue
            followed += 1
            left = open_input(one, root_of(old.folder))
            right = open_input(other, root_of(new.folder))
            if left is None or right is None:
                continue
            place = (*above, kind)
            waiting.append((place, plan_of(left), plan_of(right)))
            if kind == "recordings" or not own_reasons(plan_of(left), plan_of(right)):
                stats = values_that_differ("", left.manifest.stats, right.manifest.stats)
                yield from (_below(place, each) for each in stats if len(each.path) == 1)


def run_differences(before: Opened[Any], now: Opened[Any]) -> list[Difference]:
    """Return all differences of two finished runs of one kind, section by section."""
    old, new = _parts(before.manifest), _parts(now.manifest)
    found = [*reasons(plan_of(before), plan_of(now))]
    for section, part in old.items():
        found += values_that_differ(section, part, new[section])
    return sorted(found, key=lambda each: SECTIONS.index(each.section))


def _parts(manifest: Any) -> dict[str, object]:
    execution, stats = manifest.execution, dict(manifest.stats)
    seconds = {"all": seconds_of(execution), **execution.seconds}
    return {
        "code": manifest.producer,
        "environment": {
            "host": execution.host,
            "versions": execution.versions,
            "settings": execution.settings,
        },
        "scores": stats.pop("scores", {}),
        "result": {"identity": manifest.identity, **stats},
        "time": {"created": f"{manifest.created:%Y-%m-%d %H:%M:%S}", "seconds": seconds},
    }


def open_input(reference: InputRef, root: Location) -> Opened[Any] | None:
    """Open an input of a run below *root*; None if it is not there any more as it was."""
    try:
        opened = read_manifest(resolve_input(reference, root), reference.kind)
    except (ManifestError, StorageError):
        return None
    return opened if opened.manifest.identity == reference.identity else None


def _pairs(
    before: Sequence[InputRef], now: Sequence[InputRef]
) -> Iterator[tuple[Kind, InputRef | None, InputRef | None]]:
    """Pair the inputs of a kind that differ, those of one name first; some have no partner."""
    common = {each.identity for each in before} & {each.identity for each in now}
    gone = [each for each in before if each.identity not in common]
    names = {(each.kind, each.name) for each in gone}
    added = [each for each in now if each.identity not in common]
    for new in sorted(added, key=lambda each: (each.kind, each.name) not in names):
        alike = [each for each in gone if each.kind == new.kind]
        old = min(alike, key=lambda each: each.name != new.name, default=None)
        if old is not None:
            gone.remove(old)
        yield new.kind, old, new
    yield from ((old.kind, old, None) for old in gone)


def _named(reference: InputRef | None) -> str | None:
    if reference is None:
        return None
    return f"{reference.name} ({reference.identity.removeprefix('sha256:')[:8]})"


def _below(above: tuple[str, ...], each: Difference) -> Difference:
    return replace(each, section="inputs", path=(*above, *each.path))


def _leaves(value: object, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*above, str(key)))
    elif value is not None:
        yield above, value
