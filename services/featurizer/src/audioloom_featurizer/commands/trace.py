"""`trace`: find the runs that hold certain recordings, and all runs made from these runs.

The rows of recordings and features are searched. Runs of later stages are found by the identities
of their inputs, whatever their location and name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import structlog
from audioloom_manifest import Envelope, Kind, ManifestError, Opened, list_manifests
from audioloom_stage import BadData, Result, printable
from audioloom_storage import Location, NotFound, locate, open_read, stat

from audioloom_featurizer.errors import BadPattern, InvalidOption
from audioloom_featurizer.extraction.unit import FEATURES, LEDGER_ROLE
from audioloom_featurizer.inventory.parquet import inventory_location, read_batches
from audioloom_featurizer.settings import TraceSettings

log = structlog.get_logger()

HOLDS, MADE_FROM, UNKNOWN = "holds", "made-from", "cannot-tell"
_MOST_DETAIL = 200


@dataclass(frozen=True)
class Wanted:
    """The recordings to look for.

    Attributes:
        groups: groups of recordings.
        path: pattern for the whole path below the source.
    """

    groups: tuple[str, ...]
    path: re.Pattern[str] | None

    def rows(self, table: pa.Table | pa.RecordBatch) -> list[str]:
        """The paths of the wanted rows."""
        paths = table.column("path")
        chosen = pc.is_in(table.column("group"), value_set=pa.array(self.groups, pa.string()))
        if self.path is not None:
            named = [self.matches(path) for path in paths.to_pylist()]
            chosen = pc.or_(chosen, pa.array(named, pa.bool_()))
        found: list[str] = paths.filter(chosen).to_pylist()
        return found

    def matches(self, path: str) -> bool:
        """Whether the path matches."""
        return self.path is not None and self.path.fullmatch(path) is not None


@dataclass(frozen=True)
class Run:
    """A run that holds wanted recordings, was made from them, or cannot be judged.

    Attributes:
        kind: the kind of its manifest.
        location: its folder.
        state: `holds`, `made-from` or `cannot-tell`.
        recordings: number of wanted recordings in the run; 0 if they are not counted.
        windows: number of their windows, for features.
        detail: the reason why the run cannot be judged.
    """

    kind: str
    location: str
    state: str
    recordings: int = 0
    windows: int = 0
    detail: str = ""


@dataclass
class _Search:
    """The facts found so far, by the identity of manifests.

    Attributes:
        wanted: the recordings to look for.
        listed: maps a recordings manifest to the wanted paths in it.
        holds: maps a later run to whether it holds wanted recordings; None if unknown.
        sources: (source, path) of the wanted recordings.
    """

    wanted: Wanted
    listed: dict[str, set[str]] = field(default_factory=dict)
    holds: dict[str, bool | None] = field(default_factory=dict)
    sources: set[tuple[str, str]] = field(default_factory=set)


def trace(settings: TraceSettings) -> Result:
    """List the runs under the roots that hold wanted recordings or were made from them.

    Raises:
        InvalidOption, BadPattern: no recordings are named, or the pattern is invalid.
        NotFound: a root does not exist.
    """
    search = _Search(_wanted(settings))
    roots = [locate(each) for each in (settings.root, *settings.more_roots)]
    for root in roots:
        stat(root)
    searches: dict[Kind, Callable[[Opened[Any]], Run | None]] = {
        "recordings": lambda opened: _recordings(opened, search),
        "features": lambda opened: _features(opened, search),
        "shards": lambda opened: _made_from("features", opened, search),
        "training-run": lambda opened: _made_from("shards", opened, search),
    }
    found = [run for kind, look in searches.items() for run in _runs(roots, kind, look)]
    recordings = sorted(f"{source.rstrip('/')}/{path}" for source, path in search.sources)
    unknown = sum(run.state == UNKNOWN for run in found)
    log.info("traced", recordings=len(recordings), runs=len(found) - unknown, cannot_tell=unknown)
    return Result(
        [*_lines(found), *(f"recording  {printable(each)}" for each in recordings)],
        {"runs": [asdict(run) for run in found], "recordings": recordings},
    )


def _wanted(settings: TraceSettings) -> Wanted:
    if not settings.group and settings.path is None:
        raise InvalidOption(
            "no recordings are named",
            expected="--group or --path",
            found="neither",
            hint="A group is the named group of --pattern in the scan; a path is relative to the"
            " source.",
        )
    try:
        return Wanted(settings.group, None if settings.path is None else re.compile(settings.path))
    except re.error as error:
        raise BadPattern(
            "this is not a regular expression",
            where="--path",
            expected="a regular expression for the whole path below the source",
            found=f"{settings.path!r}: {error}",
        ) from error


def _runs(
    roots: Sequence[Location], kind: Kind, look: Callable[[Opened[Any]], Run | None]
) -> Iterator[Run]:
    for root in roots:
        for folder, opened in list_manifests(root, kind):
            if opened is None:
                yield Run(kind, str(folder), UNKNOWN, detail="not committed")
            elif isinstance(opened, ManifestError):
                yield Run(kind, str(folder), UNKNOWN, detail=f"unreadable: {opened.found}")
            else:
                try:
                    run = look(opened)
                except (ManifestError, BadData, NotFound, pa.ArrowException) as error:
                    run = _run(opened, UNKNOWN, detail=f"damaged: {error}"[:_MOST_DETAIL])
                if run is not None:
                    yield run


def _recordings(opened: Opened[Any], search: _Search) -> Run | None:
    paths: set[str] = set()
    for batch in read_batches(inventory_location(opened)):
        paths.update(search.wanted.rows(batch))
    search.listed[opened.manifest.identity] = paths
    search.sources |= {(opened.manifest.recipe.source, path) for path in paths}
    return _run(opened, HOLDS, recordings=len(paths)) if paths else None


def _features(opened: Opened[Any], search: _Search) -> Run | None:
    """Search features and ledger, which together hold every recording of the input."""
    inputs = [search.listed.get(each) for each in _inputs(opened.manifest, "recordings")]
    lost, listed = None in inputs, set[str]().union(*filter(None, inputs))
    paths: list[str] = []
    windows = 0
    if lost or listed:
        for table in _tables(opened, FEATURES, "path", "group"):
            rows = search.wanted.rows(table)
            windows += len(rows)
            paths += set(rows)
        for table in _tables(opened, LEDGER_ROLE, "path"):
            rows = table.column("path").to_pylist()
            paths += [path for path in rows if path in listed or search.wanted.matches(path)]
    if paths:
        search.holds[opened.manifest.identity] = True
        return _run(opened, HOLDS, recordings=len(set(paths)), windows=windows)
    if lost and search.wanted.groups and opened.manifest.stats.refused:
        detail = "its recordings are not under these roots, and its ledger has no groups"
        return _run(opened, UNKNOWN, detail=detail)
    search.holds[opened.manifest.identity] = False
    return None


def _made_from(kind: Kind, opened: Opened[Any], search: _Search) -> Run | None:
    answers = [search.holds.get(each) for each in _inputs(opened.manifest, kind)]
    holds = True if True in answers else None if None in answers else False
    search.holds[opened.manifest.identity] = holds
    if holds is None:
        detail = f"its {kind} cannot be judged, or are not under these roots"
        return _run(opened, UNKNOWN, detail=detail)
    return _run(opened, MADE_FROM) if holds else None


def _inputs(manifest: Envelope, kind: Kind) -> list[str]:
    return [each.identity for each in manifest.inputs if each.kind == kind]


def _tables(opened: Opened[Any], role: str, *columns: str) -> Iterator[pa.Table]:
    for entry in opened.files(role):
        with open_read(opened.folder / entry.path) as stream:
            yield pq.read_table(stream, columns=list(columns), use_threads=False)


def _run(opened: Opened[Any], state: str, **more: Any) -> Run:
    return Run(opened.manifest.kind, str(opened.folder), state, **more)


def _lines(found: Sequence[Run]) -> Iterator[str]:
    rows = [
        (run.kind, run.state, printable(_counts(run) or run.detail), run.location) for run in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()


def _counts(run: Run) -> str:
    counts = {"recording": run.recordings, "window": run.windows}
    return ", ".join(f"{n} {name}{'s' * (n != 1)}" for name, n in counts.items() if n)
