"""The cost of a run: what it was predicted to take, and what it took (`execution.cost`)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from audioloom_manifest.envelope import Cost, Envelope, FileEntry, Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.layout import FOLDERS, MANIFEST_NAME, root_of
from audioloom_manifest.publication import Attempt, Plan
from audioloom_manifest.reader import MOST_MANIFEST_BYTES, parse_manifest
from audioloom_storage import Location, StorageError, list_folder, read_bytes

from audioloom_runs.capacity import COPIES
from audioloom_runs.prediction import Earlier, Expected, predict
from audioloom_runs.tables import duration_text, size_text

YARN_SECONDS, YARN_DOUBT = 20.0, 1.0
"""Until Spark has its containers, and how little that is known: a first run ships its environment,
and queues differ."""
NEWEST = 30
"""Runs below the root that a prediction looks at: the newest."""

_SHOWN: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "seconds": ("time", duration_text),
    "core_seconds": ("core-hours", lambda seconds: f"{seconds / 3600:.2g}"),
    "memory_bytes": ("memory", lambda size: size_text(round(size))),
    "stored_bytes": ("stored", lambda size: size_text(round(size))),
    "cache_bytes": ("cache", lambda size: size_text(round(size))),
}
_PEAK = re.compile(r"^VmHWM:\s+([0-9]+) kB$", re.MULTILINE)


def predict_cost(
    plan: Plan,
    *,
    same: Sequence[str],
    master: str = "",
    cores: int,
    seconds: Expected,
    memory: Expected,
    stored: Expected,
    cache: float = 0.0,
) -> dict[str, Cost]:
    """Predict the cost of a run from constants and from earlier runs below its root.

    Args:
        plan: of the run.
        same: the fields of the recipe in which earlier runs must agree with it.
        master: the Spark master; runs on another kind of master do not count.
        cores: that the run holds.
        seconds: from the start of the work to the manifest.
        memory: bytes of the process that commits.
        stored: bytes of data files, one copy.
        cache: bytes on the local disk of a worker.
    """
    copies = copies_of(plan.folder)
    of_spark = seconds
    if master == "yarn":
        of_spark = replace(seconds, start=seconds.start + YARN_SECONDS, doubt=YARN_DOUBT)
    quantities = {
        "seconds": of_spark,
        "core_seconds": Expected(seconds.start * cores, seconds.work * cores, seconds.doubt),
        "memory_bytes": memory,
        "stored_bytes": Expected(stored.start * copies, stored.work * copies, stored.doubt),
        "cache_bytes": Expected(0.0, cache),
    }
    root = root_of(plan.folder)
    earlier = [
        manifest.execution.cost
        for _, manifest in newest_manifests(root, plan.kind)
        if _kind_of(manifest.execution.settings.get("master")) == _kind_of(master)
        and all(getattr(manifest.recipe, name) == getattr(plan.recipe, name) for name in same)
    ]
    return {
        name: predict(
            each,
            [
                Earlier(found.start, found.work, found.actual)
                for costs in earlier
                if (found := costs.get(name)) is not None and found.actual is not None
            ],
        )
        for name, each in quantities.items()
    }


def note_actual(
    attempt: Attempt,
    folder: Location,
    files: Iterable[FileEntry],
    seconds: float,
    *,
    cores: int,
    makers: AbstractSet[str] = frozenset(),
) -> None:
    """Note what an attempt took, beside what was predicted.

    Args:
        attempt: the one that commits.
        folder: of the run.
        files: all data files.
        seconds: until now.
        cores: that the run held.
        makers: the attempts that did its units; those of others took time that nobody measured.
    """
    actual = {
        "memory_bytes": peak_memory(),
        "stored_bytes": float(sum(file.bytes for file in files) * copies_of(folder)),
    }
    if makers <= {attempt.id}:
        actual |= {"seconds": seconds, "core_seconds": seconds * cores}
    for name in attempt.cost.keys() & actual.keys():
        if (value := actual[name]) is not None:
            noted = {"actual": round(value, 3)}
            attempt.cost[name] = attempt.cost[name].model_copy(update=noted)


def cost_facts(cost: Mapping[str, Cost]) -> dict[str, str]:
    """Each quantity by its name for people: prediction, range, basis, and what the run took."""
    return {
        label: _text(cost[name], text)
        for name, (label, text) in _SHOWN.items()
        if name in cost and (cost[name].most or cost[name].actual)
    }


def newest_manifests(root: Location, kind: Kind) -> Iterator[tuple[Location, Envelope]]:
    """Read the newest manifests of a kind below a root, without their lists of files.

    What cannot be read is passed over: a prediction is no reason to fail.
    """
    with suppress(StorageError):
        folders = [each for each in list_folder(root / FOLDERS[kind]) if each.is_folder]
        folders.sort(key=lambda each: each.modified_ns, reverse=True)
        for folder in [each.location for each in folders[:NEWEST]]:
            where = folder / MANIFEST_NAME
            with suppress(StorageError, ManifestError):
                data = read_bytes(where, limit=MOST_MANIFEST_BYTES)
                yield folder, parse_manifest(data, where, kind)[1]


def copies_of(place: Location) -> int:
    """The copies that a storage keeps of a block, as far as is known here."""
    return COPIES if place.scheme in {"hdfs", "webhdfs"} else 1


def peak_memory() -> float | None:
    """The most bytes that this process has held; None if the kernel does not tell."""
    with suppress(OSError):
        if match := _PEAK.search(Path("/proc/self/status").read_text(encoding="utf-8")):
            return int(match[1]) * 1024.0
    return None


def _kind_of(master: object) -> str:
    return str(master or "").partition("[")[0]


def _text(cost: Cost, text: Callable[[float], str]) -> str:
    if cost.least == cost.most:  # it is no prediction, but what containers are given
        return text(cost.likely)
    by = f"{cost.runs} earlier run{'s' * (cost.runs != 1)}" if cost.runs else "constants"
    range_ = f"{text(cost.least)} to {text(cost.most)}"
    took = "" if cost.actual is None else f", took {text(cost.actual)}"
    return f"predicted {text(cost.likely)} ({range_}), by {by}{took}"
