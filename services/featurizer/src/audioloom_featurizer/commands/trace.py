"""`trace`: find the runs that hold certain recordings, and all runs made from these runs.

The rows of recordings and features are searched. Runs of later stages are found by the identities
of their inputs, whatever their location and name.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from audioloom_manifest.envelope import Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.reader import Opened, list_manifests
from audioloom_runs.tables import table
from audioloom_stage.errors import BadData
from audioloom_stage.escapes import printable
from audioloom_stage.result import Result
from audioloom_storage import Location, NotFound, PermissionDenied, locate, stat

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.extraction.unit import FEATURES, LEDGER_ROLE
from audioloom_featurizer.inventory.parquet import inventory_location, read_batches, read_tables
from audioloom_featurizer.settings import TraceSettings

log = structlog.get_logger()

HOLDS, MADE_FROM, UNKNOWN = "holds", "made-from", "cannot-tell"
_MOST_DETAIL = 200


@dataclass(frozen=True)
class Run:
    """A run that holds wanted recordings, was made from them, or cannot be judged.

    The wanted recordings and their windows are 0 where they are not counted; the detail is the
    reason why the run cannot be judged.
    """

    kind: str
    location: str
    state: str
    recordings: int = 0
    windows: int = 0
    detail: str = ""


@dataclass
class _Search:
    """The recordings to look for, and the facts found so far, by the identity of manifests.

    Attributes:
        groups: groups of wanted recordings.
        path: pattern for the whole path of wanted recordings below the source.
        listed: the wanted paths in each recordings manifest.
        holds: whether each later run holds wanted recordings; None if unknown.
        found: URIs of the wanted recordings.
    """

    groups: tuple[str, ...]
    path: re.Pattern[str] | None
    listed: dict[str, set[str]] = field(default_factory=dict)
    holds: dict[str, bool | None] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)

    def recordings(self, opened: Opened[Any]) -> Run | None:
        paths: set[str] = set()
        for batch in read_batches(inventory_location(opened), ("path", "group")):
            paths.update(self._rows(batch))
        self.listed[opened.manifest.identity] = paths
        source = opened.manifest.recipe.source.rstrip("/")
        self.found |= {f"{source}/{path}" for path in paths}
        return _run(opened, HOLDS, recordings=len(paths)) if paths else None

    def features(self, opened: Opened[Any]) -> Run | None:
        """Search features and ledger, which together hold every recording of the input.

        Imported features have no input, so their rows tell.
        """
        inputs = [self.listed.get(each) for each in _inputs(opened, "recordings")]
        lost, listed = None in inputs or not inputs, set[str]().union(*filter(None, inputs))
        paths: set[str] = set()
        windows = 0
        if lost or listed:
            for part in read_tables(opened, FEATURES, ["path", "group"]):
                rows = self._rows(part)
                windows += len(rows)
                paths.update(rows)
            for ledger in read_tables(opened, LEDGER_ROLE, ["path"]):
                rows = ledger.column("path").to_pylist()
                paths.update(path for path in rows if path in listed or self._matches(path))
        self.holds[opened.manifest.identity] = bool(paths)
        if paths:
            return _run(opened, HOLDS, recordings=len(paths), windows=windows)
        if lost and self.groups and opened.manifest.stats.refused:
            self.holds[opened.manifest.identity] = None
            detail = "its recordings are not under these roots, and its ledger has no groups"
            return _run(opened, UNKNOWN, detail=detail)
        return None

    def made_from(self, kind: Kind, opened: Opened[Any]) -> Run | None:
        """Judge a run by its inputs of this kind."""
        answers = [self.holds.get(each) for each in _inputs(opened, kind)]
        holds = True if True in answers else None if None in answers else False
        self.holds[opened.manifest.identity] = holds
        if holds is None:
            detail = f"its {kind} cannot be judged, or are not under these roots"
            return _run(opened, UNKNOWN, detail=detail)
        return _run(opened, MADE_FROM) if holds else None

    def _rows(self, table: pa.Table | pa.RecordBatch) -> list[str]:
        paths = table.column("path")
        chosen = pc.is_in(table.column("group"), value_set=pa.array(self.groups, pa.string()))
        if self.path is not None:
            named = [self._matches(path) for path in paths.to_pylist()]
            chosen = pc.or_(chosen, pa.array(named, pa.bool_()))
        found: list[str] = paths.filter(chosen).to_pylist()
        return found

    def _matches(self, path: str) -> bool:
        return self.path is not None and self.path.fullmatch(path) is not None


def trace(settings: TraceSettings) -> Result:
    """List the runs under the roots that hold wanted recordings or were made from them.

    Raises:
        InvalidOption: no recordings are named, or the pattern is invalid.
        NotFound: a root does not exist.
    """
    search = _search(settings)
    roots = [locate(each) for each in (settings.root, *settings.more_roots)]
    for root in roots:
        stat(root)
    searches: dict[Kind, Callable[[Opened[Any]], Run | None]] = {
        "recordings": search.recordings,
        "features": search.features,
        "shards": partial(search.made_from, "features"),
        "training-run": partial(search.made_from, "shards"),
    }
    runs = [
        run for kind, look in searches.items() for root in roots for run in _runs(root, kind, look)
    ]
    recordings = sorted(search.found)
    unknown = sum(run.state == UNKNOWN for run in runs)
    log.info("traced", recordings=len(recordings), runs=len(runs) - unknown, cannot_tell=unknown)
    rows = [(run.kind, run.state, _counts(run) or run.detail, run.location) for run in runs]
    lines = table((), rows).splitlines() if rows else []
    return Result(
        [*lines, *(f"recording  {printable(each)}" for each in recordings)],
        {"runs": [asdict(run) for run in runs], "recordings": recordings},
    )


def _search(settings: TraceSettings) -> _Search:
    if not settings.group and settings.path is None:
        raise InvalidOption(
            "no recordings are named",
            expected="--group or --path",
            found="neither",
            hint="A group is the named group of --pattern in the scan; a path is relative to the"
            " source.",
        )
    try:
        return _Search(settings.group, None if settings.path is None else re.compile(settings.path))
    except re.error as error:
        raise InvalidOption(
            "this is not a regular expression",
            where="--path",
            expected="a regular expression for the whole path below the source",
            found=f"{settings.path!r}: {error}",
        ) from error


def _runs(root: Location, kind: Kind, look: Callable[[Opened[Any]], Run | None]) -> Iterator[Run]:
    for folder, opened in list_manifests(root, kind):
        if isinstance(opened, Opened):
            try:
                run = look(opened)
            except (ManifestError, BadData, NotFound, PermissionDenied, pa.ArrowException) as error:
                run = _run(opened, UNKNOWN, detail=f"damaged: {error}"[:_MOST_DETAIL])
            if run is not None:
                yield run
        else:
            detail = "not committed" if opened is None else f"unreadable: {opened.found}"
            yield Run(kind, str(folder), UNKNOWN, detail=detail)


def _inputs(opened: Opened[Any], kind: Kind) -> list[str]:
    return [each.identity for each in opened.manifest.inputs if each.kind == kind]


def _run(opened: Opened[Any], state: str, **more: Any) -> Run:
    return Run(opened.manifest.kind, str(opened.folder), state, **more)


def _counts(run: Run) -> str:
    counts = {"recording": run.recordings, "window": run.windows}
    return ", ".join(f"{n} {name}{'s' * (n != 1)}" for name, n in counts.items() if n)
