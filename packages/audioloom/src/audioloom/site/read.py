"""Read all runs under a root for the site: each manifest once, in threads, into little memory."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from audioloom_manifest.envelope import Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.file_list import read_file
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_manifest.layout import FOLDERS
from audioloom_manifest.reader import Opened, resolve_input, try_manifest
from audioloom_runs.attempts import seconds_of
from audioloom_runs.pages.features import features_sections
from audioloom_runs.pages.markup import Markup
from audioloom_runs.pages.parts import note, section
from audioloom_runs.pages.shards import shards_sections
from audioloom_runs.progress import objects, read_progress, training_state
from audioloom_runs.run_list import run_row
from audioloom_runs.run_times import wall_time
from audioloom_runs.tables import size_text, value_text
from audioloom_stage.escapes import printable, safe_text, shortened
from audioloom_stage.progress_bar import progress
from audioloom_stage.redaction import redact_values
from audioloom_stage.result import JSON
from audioloom_storage import Location, NotFound, StorageError, exists, list_folder

_THREADS = 16
_MOST_FACTS = 80
_MOST_TEXT = 300
_MOST_HISTORY_BYTES = 16 << 20
_MOST_METRICS = 24
_TENSORBOARD = "logs/tensorboard"

History = Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class Input:
    """An input of a run: what it was when the run was made, and where it lay."""

    kind: Kind
    name: str
    location: str
    identity: str


@dataclass(frozen=True)
class SiteRun:
    """What the site shows of a run; all texts are safe to show.

    Args:
        page: path of its page in the site.
        changed: when it was committed, or when its folder last changed; "" if unknown.
        seconds: its wall time; None if it was not committed.
        facts: named facts, by the heading under which they stand.
        holds: what it holds in a few words, and the number by which runs are sorted.
        history: metrics of each epoch, with the key `epoch`.
        tensorboard: folder of the events for TensorBoard; "" without one.
        report: location of the report of a training; "" without one.
        sections: of features and shards, what their own page has.
        wall_time: of a training, seconds by class, across attempts; {} if it was not measured.
    """

    kind: Kind
    name: str
    location: str
    page: str
    state: str
    changed: str = ""
    detail: str = ""
    identity: str = ""
    seconds: float | None = None
    inputs: tuple[Input, ...] = ()
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    holds: tuple[str, float] = ("", 0)
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    history: History = ()
    tensorboard: str = ""
    report: str = ""
    sections: Markup | None = None
    wall_time: Mapping[str, float] = field(default_factory=dict)

    @property
    def headline(self) -> tuple[str, str, float] | None:
        """The score to show first: split, metric and value; accuracy on test if there is one."""
        for split in ("test", "val", *self.scores):
            for metric in ("accuracy", "loss"):
                if metric in self.scores.get(split, {}):
                    return split, metric, self.scores[split][metric]
        return None


def read_runs(root: Location) -> list[SiteRun]:
    """Read the runs of all kinds under a root, the newest first; a damaged run is one of them."""
    folders: list[tuple[Kind, Location]] = []
    for kind, name in FOLDERS.items():
        with suppress(NotFound):
            found = list_folder(root / name)
            folders += [(kind, entry.location) for entry in found if entry.is_folder]
    with ThreadPoolExecutor(_THREADS) as pool, progress(len(folders), "reading", "runs") as bar:
        read = partial(_read, root)
        runs = [*bar.over(pool.map(read, folders))]
    return sorted(runs, key=lambda run: (run.changed, run.page), reverse=True)


def _read(root: Location, where: tuple[Kind, Location]) -> SiteRun:
    kind, folder = where
    common: dict[str, Any] = {
        "kind": kind,
        "name": safe_text(folder.name),
        "location": safe_text(folder),
        "page": f"{FOLDERS[kind]}/{_file_name(folder.name)}.html",
    }
    try:
        found = try_manifest(folder)
        row = run_row(root, kind, folder, found)
        if found is None and kind == "training-run":
            row |= training_state(folder)
        more = _committed(found) if row["state"] == "committed" else _uncommitted(folder, kind)
    except StorageError as error:
        row, more = {"state": "unreadable", "detail": str(error)}, {}
    told = {key: safe_text(row.get(key) or "") for key in ("state", "changed", "detail")}
    return SiteRun(**common, **{**told, **more})


def _file_name(name: str) -> str:
    """A file name for the page of a run: the name as it is if it is harmless, else its digest."""
    plain = quote(name, safe="", errors="surrogateescape") == name
    if plain and len(name) <= 100 and not name.startswith("."):  # noqa: PLR2004
        return name
    return f"-{sha256(name.encode(errors='surrogateescape')).hexdigest()[:32]}"


def _committed(opened: Any) -> dict[str, Any]:
    manifest = opened.manifest
    execution = manifest.execution
    more: dict[str, Any] = {
        "identity": manifest.identity,
        "seconds": seconds_of(execution),
        "inputs": tuple(
            Input(each.kind, each.name, safe_text(resolve_input(each, opened.root)), each.identity)
            for each in manifest.inputs
        ),
        "facts": _facts(manifest, sum(entry.bytes for entry in opened.entries)),
        "holds": _holds(manifest),
    }
    if manifest.kind == "shards":
        more["sections"] = shards_sections(manifest)
    if manifest.kind == "features":
        more["sections"] = _features(opened)
    if manifest.kind == "training-run":
        more |= _training(opened)
    return more


def _features(opened: Opened[FeaturesManifest]) -> Markup:
    try:  # pyarrow is an extra
        from audioloom_manifest.feature_reader import read_feature_sample  # noqa: PLC0415

        return features_sections(opened.manifest, read_feature_sample(opened))
    except ImportError:
        told = "Install audioloom[tables] to see labels, lengths and pictures here."
    except (ManifestError, StorageError) as error:
        told = f"The features could not be read: {safe_text(error)}"
    return section("Contents", note(told))


def _training(opened: Opened[Any]) -> dict[str, Any]:
    scores = opened.manifest.stats.scores
    more: dict[str, Any] = {
        "wall_time": opened.manifest.execution.seconds,
        "scores": {safe_text(name): _numbers(each) for name, each in scores.items()},
    }
    reports, events = opened.files("report"), opened.files("events")
    if reports:
        more["report"] = (opened.folder / reports[0].path).uri
    if events:
        more["tensorboard"] = safe_text(opened.folder / _TENSORBOARD)
    entries = [each for each in opened.files("history") if each.bytes <= _MOST_HISTORY_BYTES]
    try:
        if len(entries) == 1:
            found = next(objects([read_file(opened.folder, entries[0])]), {})
            more["history"] = _history(found.get("epochs"))
    except (ManifestError, StorageError) as error:
        more["detail"] = safe_text(error)
    return more


def _uncommitted(folder: Location, kind: Kind) -> dict[str, Any]:
    if kind != "training-run":
        return {}
    where = folder / _TENSORBOARD
    lines = read_progress(folder / "progress/0.jsonl")
    return {
        "tensorboard": safe_text(where) if exists(where) else "",
        "history": _history([line for line in lines if line.get("event") == "epoch"]),
        "wall_time": wall_time(folder),
    }


_MOST_EPOCHS = 1 << 53
_NO_METRICS = frozenset({"attempt", "epoch", "generation", "rank", "step"})


def _history(epochs: object) -> History:
    """The numbers of each epoch, of data that may be anything."""
    found = []
    for each in epochs if isinstance(epochs, list) else []:
        epoch = each.get("epoch") if isinstance(each, dict) else None
        if isinstance(epoch, int) and 0 <= epoch <= _MOST_EPOCHS:
            metrics = _numbers({k: v for k, v in each.items() if k not in _NO_METRICS})
            found.append({**dict([*metrics.items()][:_MOST_METRICS]), "epoch": epoch})
    return found


def _numbers(value: Mapping[str, Any]) -> dict[str, float]:
    numbers = {printable(key): each for key, each in value.items() if type(each) in (int, float)}
    most = sys.float_info.max  # a larger integer is no float
    return {key: float(each) for key, each in numbers.items() if abs(each) <= most}


def _facts(manifest: Any, size: int) -> dict[str, dict[str, str]]:
    value = redact_values(manifest.to_json())
    execution, producer = value["execution"], value["producer"]
    value["stats"].pop("scores", None)
    about = {
        "host": execution["host"],
        "made by": f"audioloom-{producer['stage']} {producer['version']}",
        "size": size_text(size),
    }
    parts = {
        "Run": about,
        "Recipe": value["recipe"],
        "Counts": value["stats"],
        "Execution": {**execution["settings"], **execution["counts"]},
        "Versions": execution["versions"],
    }
    return {heading: _bounded(flattened(each)) for heading, each in parts.items()}


def _bounded(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    found = dict(pairs)
    more = len(found) - _MOST_FACTS
    shown = dict([*found.items()][:_MOST_FACTS])
    return {**shown, "…": f"and {more} more"} if more > 0 else shown


def flattened(value: Mapping[str, JSON], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each fact of nested objects under its joined name; an object of scalars is one fact."""
    for key, each in value.items():
        name = f"{above}{key}"
        if isinstance(each, Mapping) and any(isinstance(one, Mapping) for one in each.values()):
            yield from flattened(each, f"{name}.")
        elif each is not None and each not in ({}, []):
            yield printable(name), shortened(printable(value_text(each)), _MOST_TEXT)


def _holds(manifest: Any) -> tuple[str, float]:
    stats = manifest.stats
    match manifest.kind:
        case "recordings":
            return f"{stats.recordings:,} recordings", stats.recordings
        case "features":
            refused = f", {stats.refused:,} refused" if stats.refused else ""
            return f"{stats.windows:,} windows{refused}", stats.windows
        case "shards":
            records = sum(split.records for split in stats.splits.values())
            return f"{records:,} records", records
    return f"{stats.steps:,} steps", stats.steps


def date_text(changed: str) -> str:
    """The date of a run as people read it: UTC, to the minute."""
    with suppress(ValueError):
        return f"{datetime.fromisoformat(changed):%Y-%m-%d %H:%M}"
    return ""
