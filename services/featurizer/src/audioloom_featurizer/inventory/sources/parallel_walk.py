"""Walk a source in parallel tasks, from the top down.

The tasks list level by level until there are enough folders; then each task lists whole trees. A
task writes its recordings in the order of paths. In that order all paths below a folder are
consecutive, so the fragments of one level are concatenated, and only the few levels are merged. The
driver holds the folder names of one level and no file names.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.parquet import table_writer
from audioloom_stage.progress_bar import Progress
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

from audioloom_featurizer.inventory.labels.path_pattern import label_by_pattern
from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS, in_groups
from audioloom_featurizer.inventory.sources.walk import recordings_among
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.streams import merge, sorted_batches

TASKS_A_FOLDER = 2
"""Most tasks for each folder that is enough; a task costs a tenth of a second."""
MOST_LEVELS = 8


@dataclass(frozen=True)
class ListingSpec:
    """Facts common to all tasks of a listing; Spark sends them to the tasks."""

    source: Location
    suffixes: tuple[str, ...]
    pattern: re.Pattern[str] | None
    scratch: Location
    containers: bool = False


@dataclass(frozen=True)
class ListingTask:
    """Consecutive folders that one task lists: whole trees if *deep*, else the files in them.

    Tasks are numbered in the order of paths. Folders are relative to the source; "" is the source.
    """

    number: int
    folders: list[str]
    deep: bool


@dataclass
class Fragment:
    """The result of a task.

    Attributes:
        number: that of the task.
        file: the file of rows in the order of their paths; None if there are no rows.
        folders: folders that were found but not listed.
    """

    number: int
    file: Location | None = None
    folders: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def list_in_tasks(
    spec: ListingSpec,
    folders: list[str],
    runner: Callable[..., Iterator[Fragment]],
    enough: int,
    tally: Tally,
    bar: Progress,
) -> Iterator[pa.RecordBatch]:
    """List a source in tasks, and return the rows as batches of `ROWS` in the order of their paths.

    The tasks have ended on return; the rows are then read from the scratch folder. The *runner*
    runs a function for each task and yields the results as they finish; so many folders as are
    *enough* keep all slots busy.
    """
    levels: list[list[Fragment]] = []
    while folders:
        deep = len(levels) == MOST_LEVELS or (bool(levels) and len(folders) >= enough)
        tasks = _tasks(folders, TASKS_A_FOLDER * enough, deep=deep)
        level = []
        for fragment in runner(tasks, partial(list_folders, spec)):
            level.append(fragment)
            tally.merge(fragment.tally)
            bar.advance(fragment.tally.counts["listed"])
        levels.append(sorted(level, key=lambda fragment: fragment.number))
        folders = [folder for fragment in level for folder in fragment.folders]
    rows = [
        chain.from_iterable(_read(fragment.file) for fragment in level if fragment.file)
        for level in levels
    ]
    return merge(rows, "path")


def list_folders(spec: ListingSpec, task: ListingTask) -> Fragment:
    """List the folders of a task."""
    made = Fragment(task.number)
    entries = (entry for folder in task.folders for entry in _entries(spec, folder, task, made))
    found = recordings_among(
        entries, spec.source, spec.suffixes, made.tally, containers=spec.containers
    )
    if spec.pattern is not None:
        found = label_by_pattern(found, spec.pattern, made.tally)
    groups = in_groups(sorted_batches(found, "path"), BATCH_ROWS)
    if (first := next(groups, None)) is not None:
        # A task may be retried while its first attempt is still writing.
        made.file = spec.scratch / f"{uuid.uuid4().hex}.parquet"
        with create(made.file) as file, table_writer(file, ROWS) as writer:
            for group in chain([first], groups):
                writer.write_table(group)
    return made


def _entries(spec: ListingSpec, folder: str, task: ListingTask, made: Fragment) -> Iterator[Entry]:
    """Yield the files of a folder; note the folders in it unless whole trees are listed."""
    where = spec.source.child(folder) if folder else spec.source
    try:
        if task.deep:
            yield from walk(where, within=spec.source)
            return
        for entry in list_folder(where):
            if not entry.is_folder:
                yield entry
                continue
            with suppress(NotFound):  # removed since its name was read
                if not leads_back(entry.location, spec.source):
                    made.folders.append(entry.location.relative_to(spec.source))
    except NotFound:
        if not folder:
            raise
        return  # removed since its name was read


def _tasks(folders: list[str], most: int, *, deep: bool) -> list[ListingTask]:
    ordered = sorted(folders, key=lambda folder: f"{as_text(folder)}/".encode())
    size = -(-len(ordered) // most)
    starts = range(0, len(ordered), size)
    return [ListingTask(number, ordered[at : at + size], deep) for number, at in enumerate(starts)]


def _read(fragment: Location) -> Iterator[pa.RecordBatch]:
    with open_read(fragment) as file, pq.ParquetFile(file, pre_buffer=False) as parquet:
        yield from parquet.iter_batches(BATCH_ROWS, use_threads=False)
