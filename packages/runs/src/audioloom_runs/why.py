"""`why`: say why a run would be done again, by the finished run that differs least from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audioloom_manifest.errors import NameTaken
from audioloom_manifest.layout import root_of
from audioloom_manifest.publication import Attempt, Plan, find_committed
from audioloom_manifest.reader import Opened, list_manifests, read_manifest
from audioloom_stage.escapes import printable, shortened
from audioloom_stage.progress_bar import progress
from audioloom_stage.result import JSON, Result
from audioloom_stage.settings import Settings
from audioloom_storage import exists

from audioloom_runs.differences import (
    Difference,
    own_reasons,
    plan_of,
    reasons,
    values_that_differ,
)
from audioloom_runs.tables import value_text

_SHOWN = {"name", "identity"}
_MOST_SHOWN = 40
_MOST_TEXT = 100


@dataclass(frozen=True)
class Options:
    """The options of a command, by which `why` names what differs.

    Args:
        settings: those of the command.
        names: what to call the keys of a recipe that no option is named after, and the keys below
            them: `{"splits": "--split"}`.
    """

    settings: Settings
    names: Mapping[str, str]

    def name(self, path: Sequence[str]) -> str:
        """Return how to call a key of the recipe: its option if there is one, else the key."""
        dotted = ".".join(path)
        for key in sorted(self.names, key=len, reverse=True):
            if dotted == key or dotted.startswith(f"{key}."):
                return f"{self.names[key]} {dotted[len(key) + 1 :]}".rstrip()
        known = path[-1] in type(self.settings).model_fields
        return _flag(path[-1]) if known else dotted

    def is_default(self, name: str) -> bool:
        """Whether the name is that of an option that was not given."""
        given = {_flag(each) for each in self.settings.model_fields_set}
        return name.startswith("--") and name.partition(" ")[0] not in given


def why(
    plan: Plan,
    attempt: Attempt,
    options: Options,
    details: Callable[[Opened[Any]], Iterable[str]] = lambda _: (),
) -> Result:
    """Compare a planned run with the finished run below its root that differs least.

    Args:
        plan: of the run.
        attempt: one that would begin now: it has the versions of here.
        options: of the command.
        details: returns more about the differences from a finished run, a line each.
    """
    state = "committed"
    try:
        nearest = find_committed(plan)
    except NameTaken:
        state, nearest = "name taken", read_manifest(plan.folder, plan.kind)
    if nearest is None:
        state = "begun" if exists(plan.folder) else "new"
        nearest = _nearest(plan)
    found, elsewhere, more = [], [], []
    if nearest is not None:
        found = [*reasons(plan_of(nearest), plan)]
        elsewhere = [*_elsewhere(nearest, attempt)]
        more = [printable(each) for each in details(nearest)] if found else []
    told = [shortened(printable(_sentence(each, options)), 3 * _MOST_TEXT) for each in found]
    lines = [
        *_heading(plan, state, nearest, len(found)),
        *(f"  {each}" for each in (*told[:_MOST_SHOWN], *more)),
        *([f"  and {len(told) - _MOST_SHOWN:,} more differences"] if told[_MOST_SHOWN:] else []),
    ]
    if elsewhere:
        versions = "; ".join(_versus(each.key, each) for each in elsewhere)
        lines.append(f"no reason, as versions of libraries make no new run: {printable(versions)}")
    data: dict[str, JSON] = {
        "name": plan.name,
        "location": str(plan.folder),
        "state": state,
        "nearest": None
        if nearest is None
        else {"location": str(nearest.location), **nearest.manifest.model_dump(include=_SHOWN)},
        "differences": [
            {**_as_json(each), "text": text} for each, text in zip(found, told, strict=True)
        ],
        "details": more,
        "elsewhere": [_as_json(each) for each in elsewhere],
    }
    return Result("\n".join(lines), data)


def _nearest(plan: Plan) -> Opened[Any] | None:
    """Return the finished run with the fewest differences, of several the newest."""
    finished = (
        opened
        for _, opened in list_manifests(root_of(plan.folder), plan.kind)
        if isinstance(opened, Opened) and opened.manifest.kind == plan.kind
    )

    def distance(opened: Opened[Any]) -> tuple[int, float]:
        return len(own_reasons(plan_of(opened), plan)), -opened.manifest.created.timestamp()

    with progress(None, "comparing", "runs") as bar:
        return min(bar.over(finished), key=distance, default=None)


def _heading(
    plan: Plan, state: str, nearest: Opened[Any] | None, differences: int
) -> Iterator[str]:
    if nearest is not None and state == "committed":
        yield f"already there: {nearest.location}"
        yield "there is nothing to do: `run` answers with this manifest"
        return
    if state == "name taken":
        yield f"`run` would be refused: another run has the name {plan.name}"
    else:
        yield f"`run` would {'continue' if state == 'begun' else 'make'} {plan.folder}"
    if nearest is None:
        yield f"there is no finished {plan.kind} run below {root_of(plan.folder)} yet"
        return
    made = f"{nearest.manifest.created:%Y-%m-%d %H:%M} UTC"
    if differences:
        yield f"the nearest finished run is {nearest.manifest.name}, made at {made}; it differs:"
    else:
        yield f"the run {nearest.manifest.name}, made at {made}, has the same recipe and inputs"
        yield f"give --name {nearest.manifest.name} to have that run: only the name differs"


def _sentence(each: Difference, options: Options) -> str:
    name = each.key if each.section == "inputs" else options.name(each.path)
    if each.path[-1].endswith("sha256"):
        return f"{name} has changed"
    if each.section == "inputs" and len(each.path) == 1:
        name = f"the input {name}"
    return _versus(name, each, default=options.is_default(name))


def _versus(name: str, each: Difference, *, default: bool = False) -> str:
    now, before = (
        "not set" if value is None else shortened(value_text(value), _MOST_TEXT)
        for value in (each.now, each.before)
    )
    by_default = " by default" if default and each.now is not None else ""
    return f"{name} is {now}{by_default}; it was {before}"


def _elsewhere(nearest: Opened[Any], attempt: Attempt) -> Iterator[Difference]:
    """Yield the versions that differ here, which are no part of the recipe."""
    old, new = nearest.manifest.producer, attempt.producer
    name = f"audioloom-{new.stage}"
    yield from values_that_differ("code", {name: old.version}, {name: new.version})
    before, now = nearest.manifest.execution.versions, attempt.versions
    for key in sorted(before.keys() & now.keys() - {name}):
        yield from values_that_differ("environment", {key: before[key]}, {key: now[key]})


def _as_json(each: Difference) -> dict[str, JSON]:
    return {"section": each.section, "key": each.key, "before": each.before, "now": each.now}


def _flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"
