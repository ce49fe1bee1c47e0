"""List a source in tasks, from the top down.

Level by level, until there are folders enough, each of which a task then lists to its end. What the
tasks find they write, in the order of paths. All paths below a folder lie side by side in that
order, so the fragments of one level follow one another, and a handful of levels is merged. The
driver holds the names of one level of folders, and no file's.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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

from audioloom_featurizer.external.sort import concatenate, merge, sorted_batches
from audioloom_featurizer.inventory.labels.path_pattern import (
    Matches,
    compile_pattern,
    label_by_pattern,
)
from audioloom_featurizer.inventory.paths import as_text
from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS, in_groups
from audioloom_featurizer.inventory.sources.walk import Skipped, take_recordings

PARTS_A_FOLDER = 2
"""Of the folders that are enough: a task costs a tenth of a second, so they are not many more."""
MOST_LEVELS = 8


@dataclass(frozen=True)
class Job:
    """What all tasks of a listing share; travels to them.

    Attributes:
        scratch: the folder that fragments are written to.
        with_key: the pattern may name a key that labels are joined by.
    """

    source: Location
    suffixes: tuple[str, ...]
    pattern: str | None
    with_key: bool
    scratch: Location


@dataclass(frozen=True)
class Part:
    """What one task lists: neighbouring folders, relative to the source; "" is the source.

    Attributes:
        number: in the order of paths.
        deep: whatever lies below them, else only what lies directly in them.
    """

    number: int
    folders: list[str]
    deep: bool


@dataclass(frozen=True)
class Fragment:
    """What a task found.

    Attributes:
        number: that of its part.
        file: its rows, in the order of their paths; None where there are none.
        folders: what it did not look into.
    """

    number: int
    file: Location | None
    folders: list[str]
    skipped: Skipped
    matches: Matches


Runner: TypeAlias = Callable[[Sequence[Part], Callable[[Part], Fragment]], Iterator[Fragment]]


def list_in_tasks(
    job: Job, runner: Runner, enough: int, bar: Progress
) -> tuple[list[list[Fragment]], Skipped, Matches]:
    """Let tasks list a source; answer what they found, level by level.

    Args:
        job: what to list.
        runner: does the parts in tasks, and answers as they finish.
        enough: so many folders are shared out well.
        bar: told how many recordings there are.
    """
    levels: list[list[Fragment]] = []
    skipped, matches = Skipped(), Matches()
    folders = [""]
    while folders:
        deep = len(levels) == MOST_LEVELS or (bool(levels) and len(folders) >= enough)
        level = []
        for fragment in runner(
            _parts(folders, PARTS_A_FOLDER * enough, deep=deep), partial(list_part, job)
        ):
            level.append(fragment)
            skipped.add(fragment.skipped)
            matches.add(fragment.matches)
            bar.advance(fragment.matches.paths)
        levels.append(sorted(level, key=lambda fragment: fragment.number))
        folders = [folder for fragment in level for folder in fragment.folders]
    return levels, skipped, matches


def listed_rows(levels: Sequence[Sequence[Fragment]]) -> Iterator[pa.RecordBatch]:
    """What was found as batches of `ROWS`, in the order of their paths."""
    return merge(
        [
            concatenate(_read(fragment.file) for fragment in level if fragment.file is not None)
            for level in levels
        ],
        "path",
    )


def list_part(job: Job, part: Part) -> Fragment:
    """List some folders, in a task."""
    skipped, matches = Skipped(), Matches()
    below: list[str] = []
    entries = (entry for folder in part.folders for entry in _entries(job, folder, part, below))
    found = take_recordings(entries, job.source, job.suffixes, skipped)
    rows = sorted_batches(_patterned(job, found, matches), "path")
    first = next(rows, None)
    if first is None:
        return Fragment(part.number, None, below, skipped, matches)
    # A task may be tried twice, and then its first try may still be writing.
    where = job.scratch / f"{uuid.uuid4().hex}.parquet"
    with create(where) as file, table_writer(file, ROWS) as writer:
        for group in in_groups(concatenate([iter([first]), rows]), BATCH_ROWS):
            writer.write_table(group)
    return Fragment(part.number, where, below, skipped, matches)


def _entries(job: Job, folder: str, part: Part, below: list[str]) -> Iterator[Entry]:
    """The files of a folder; folders that are not looked into are noted."""
    where = job.source.child(folder) if folder else job.source
    try:
        if part.deep:
            yield from walk(where, within=job.source)
            return
        for entry in list_folder(where):
            if not entry.is_folder:
                yield entry
            elif not _leads_back(entry.location, job.source):
                below.append(entry.location.relative_to(job.source))
    except NotFound:
        if not folder:
            raise
        return  # removed since its name was read


def _leads_back(folder: Location, source: Location) -> bool:
    try:
        return leads_back(folder, source)
    except NotFound:
        return True  # removed since its name was read


def _parts(folders: list[str], most: int, *, deep: bool) -> list[Part]:
    ordered = sorted(folders, key=lambda folder: f"{as_text(folder)}/".encode())
    size = -(-len(ordered) // most)
    starts = range(0, len(ordered), size)
    return [Part(number, ordered[at : at + size], deep) for number, at in enumerate(starts)]


def _patterned(
    job: Job, batches: Iterator[pa.RecordBatch], matches: Matches
) -> Iterator[pa.RecordBatch]:
    if job.pattern is not None:
        pattern = compile_pattern(job.pattern, with_key=job.with_key)
        return label_by_pattern(batches, pattern, matches)
    return _all(batches, matches)


def _all(batches: Iterator[pa.RecordBatch], matches: Matches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        matches.paths += batch.num_rows
        matches.matched += batch.num_rows
        yield batch


def _read(fragment: Location) -> Iterator[pa.RecordBatch]:
    with open_read(fragment) as file, pq.ParquetFile(file, pre_buffer=False) as parquet:
        yield from parquet.iter_batches(BATCH_ROWS, use_threads=False)
