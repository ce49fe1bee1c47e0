"""Walk a source in parallel tasks, from the top down.

The tasks list level by level until there are enough folders; then each task lists whole trees. A
task writes its recordings in the order of paths. In that order all paths below a folder are
consecutive, so the fragments of one level are concatenated, and only the few levels are merged. The
driver holds the folder names of one level and no file names.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.parquet import table_writer
from audioloom_stage import Progress
from audioloom_storage import (
    Entry,
    Location,
    NotFound,
    create,
    leads_back,
    list_folder,
    open_read,
    walk,
)

from audioloom_featurizer.external.sort import merge, sorted_batches
from audioloom_featurizer.inventory.labels.path_pattern import (
    PatternMatches,
    compile_pattern,
    label_by_pattern,
)
from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS, in_groups
from audioloom_featurizer.inventory.sources.walk import Skipped, recordings_among

TASKS_A_FOLDER = 2
"""Most tasks for each folder that is enough; a task costs a tenth of a second."""
MOST_LEVELS = 8


@dataclass(frozen=True)
class ListingSpec:
    """Facts common to all tasks of a listing; Spark sends them to the tasks.

    Attributes:
        source: the folder that paths are relative to.
        suffixes: the suffixes of recordings.
        pattern: the pattern for labels, if any.
        with_key: whether the pattern may name a key, by which labels are joined.
        scratch: the folder that fragments are written to.
    """

    source: Location
    suffixes: tuple[str, ...]
    pattern: str | None
    with_key: bool
    scratch: Location


@dataclass(frozen=True)
class ListingTask:
    """The folders that one task lists.

    Attributes:
        number: number of the task in the order of paths.
        folders: consecutive folders, relative to the source; "" is the source.
        deep: whether to list whole trees, or only the files directly in the folders.
    """

    number: int
    folders: list[str]
    deep: bool


@dataclass(frozen=True)
class Fragment:
    """The result of a task.

    Attributes:
        number: number of the task.
        file: the file of rows in the order of their paths; None if there are no rows.
        folders: folders that were found but not listed.
        skipped: counts of files that are not recordings.
        matches: counts of paths that the pattern matched.
    """

    number: int
    file: Location | None
    folders: list[str]
    skipped: Skipped
    matches: PatternMatches


Runner: TypeAlias = Callable[
    [Sequence[ListingTask], Callable[[ListingTask], Fragment]], Iterator[Fragment]
]


def list_in_tasks(
    spec: ListingSpec, runner: Runner, enough: int, bar: Progress
) -> tuple[list[list[Fragment]], Skipped, PatternMatches]:
    """List a source in tasks and return the fragments of each level.

    Args:
        spec: the listing.
        runner: runs the tasks and yields results as they finish.
        enough: number of folders that keeps all slots busy.
        bar: shows the number of recordings.
    """
    levels: list[list[Fragment]] = []
    skipped, matches = Skipped(), PatternMatches()
    folders = [""]
    while folders:
        deep = len(levels) == MOST_LEVELS or (bool(levels) and len(folders) >= enough)
        level = []
        for fragment in runner(
            _parts(folders, TASKS_A_FOLDER * enough, deep=deep), partial(list_folders, spec)
        ):
            level.append(fragment)
            skipped.add(fragment.skipped)
            matches.add(fragment.matches)
            bar.advance(fragment.matches.paths)
        levels.append(sorted(level, key=lambda fragment: fragment.number))
        folders = [folder for fragment in level for folder in fragment.folders]
    return levels, skipped, matches


def merged_rows(levels: Sequence[Sequence[Fragment]]) -> Iterator[pa.RecordBatch]:
    """Merge the rows of all fragments to batches of `ROWS`, in the order of their paths."""
    return merge(
        [
            chain.from_iterable(_read(fragment.file) for fragment in level if fragment.file)
            for level in levels
        ],
        "path",
    )


def list_folders(spec: ListingSpec, task: ListingTask) -> Fragment:
    """List the folders of a task."""
    skipped, matches = Skipped(), PatternMatches()
    below: list[str] = []
    entries = (entry for folder in task.folders for entry in _entries(spec, folder, task, below))
    found = recordings_among(entries, spec.source, spec.suffixes, skipped)
    rows = sorted_batches(_patterned(spec, found, matches), "path")
    first = next(rows, None)
    if first is None:
        return Fragment(task.number, None, below, skipped, matches)
    # A task may be retried while its first attempt is still writing.
    where = spec.scratch / f"{uuid.uuid4().hex}.parquet"
    with create(where) as file, table_writer(file, ROWS) as writer:
        for group in in_groups(chain([first], rows), BATCH_ROWS):
            writer.write_table(group)
    return Fragment(task.number, where, below, skipped, matches)


def _entries(
    spec: ListingSpec, folder: str, task: ListingTask, below: list[str]
) -> Iterator[Entry]:
    """Yield the files of a folder; add its folders to *below* unless whole trees are listed."""
    where = spec.source.child(folder) if folder else spec.source
    try:
        if task.deep:
            yield from walk(where, within=spec.source)
            return
        for entry in list_folder(where):
            if not entry.is_folder:
                yield entry
            elif not _leads_back(entry.location, spec.source):
                below.append(entry.location.relative_to(spec.source))
    except NotFound:
        if not folder:
            raise
        return  # removed since its name was read


def _leads_back(folder: Location, source: Location) -> bool:
    try:
        return leads_back(folder, source)
    except NotFound:
        return True  # removed since its name was read


def _parts(folders: list[str], most: int, *, deep: bool) -> list[ListingTask]:
    ordered = sorted(folders, key=lambda folder: f"{as_text(folder)}/".encode())
    size = -(-len(ordered) // most)
    starts = range(0, len(ordered), size)
    return [ListingTask(number, ordered[at : at + size], deep) for number, at in enumerate(starts)]


def _patterned(
    spec: ListingSpec, batches: Iterator[pa.RecordBatch], matches: PatternMatches
) -> Iterator[pa.RecordBatch]:
    if spec.pattern is not None:
        pattern = compile_pattern(spec.pattern, with_key=spec.with_key)
        return label_by_pattern(batches, pattern, matches)
    return _all(batches, matches)


def _all(batches: Iterator[pa.RecordBatch], matches: PatternMatches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        matches.paths += batch.num_rows
        matches.matched += batch.num_rows
        yield batch


def _read(fragment: Location) -> Iterator[pa.RecordBatch]:
    with open_read(fragment) as file, pq.ParquetFile(file, pre_buffer=False) as parquet:
        yield from parquet.iter_batches(BATCH_ROWS, use_threads=False)
