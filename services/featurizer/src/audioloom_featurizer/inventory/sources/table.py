"""Read the list of recordings from a table instead of walking a folder.

A plain table has the column `path` and any of `size`, `modified_ns`, `label`, `target`, `group`.
The dump of an fsimage (`hdfs oiv -p Delimited`) has `Path`, `FileSize` and more.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.tables import BadTable, Chunk, Table
from audioloom_storage import Entry, Location, NotFound, stat

from audioloom_featurizer.inventory.paths import absolute, relative, unsafe
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, batch_of, read_column, replaced
from audioloom_featurizer.inventory.sources.selection import Selection
from audioloom_featurizer.inventory.sources.walk import choose
from audioloom_featurizer.inventory.tally import Tally

_NUMBERS = ("size", "modified_ns")
_IMAGE = ("Path", "FileSize", "ModificationTime", "PreferredBlockSize")
_IMAGE_TIME = "%Y-%m-%d %H:%M"
_THREADS = 16


def recordings_in_table(
    table: Table, selection: Selection, suffixes: tuple[str, ...], tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings that a table lists, as batches of `ROWS`, in the table's order.

    As in a walk, hidden files, other suffixes and what is not selected are skipped. Storage is
    asked for a size or a time that the table lacks. Paths and URIs become relative to the folder of
    the selection.

    Raises:
        BadTable: a path is not below that folder, a value is not a number, a file is missing.
    """
    source = selection.folder
    if set(_IMAGE) <= set(table.names):
        columns = (*_IMAGE, *(name for name in ("Permission",) if name in table.names))
        for chunk in table.read(columns):
            batch = _selected(_from_image(chunk, source, tally), selection, tally)
            yield choose(batch, suffixes, tally)
        return
    table.check(["path"])
    columns = ("path", *(name for name in (*_NUMBERS, *LABEL_COLUMNS) if name in table.names))
    with ThreadPoolExecutor(_THREADS, "stat") as threads:
        for chunk in table.read(columns):
            batch = _selected(_from_ours(chunk, source), selection, tally)
            yield _completed(choose(batch, suffixes, tally), source, chunk.where, threads)


def _selected(batch: pa.RecordBatch, selection: Selection, tally: Tally) -> pa.RecordBatch:
    """Keep the files of the sources; others may lie beside them in the folder above."""
    if selection.is_whole:
        return batch
    paths, child = batch.column("path"), selection.folder.child
    meant = pa.array([selection.holds(child(path)) for path in paths.to_pylist()], pa.bool_())
    tally.add("elsewhere", paths.filter(pc.invert(meant)))
    return batch.filter(meant)


def _from_ours(chunk: Chunk, source: Location) -> pa.RecordBatch:
    found = {name: read_column(chunk, name, name) for name in chunk.batch.schema.names}
    paths = found["path"] = relative(found["path"], source)
    outside = pc.or_kleene(unsafe(paths), absolute(paths))
    chunk.refuse_any(outside, "path", f"a path below {source}, without '..'")
    return batch_of(**found)


def _from_image(chunk: Chunk, source: Location, tally: Tally) -> pa.RecordBatch:
    """Take the files of an fsimage's dump that lie below the source.

    The dump has times in minutes, in the time zone of the machine that wrote it; they are read as
    UTC.
    """
    paths, sizes = chunk.text("Path"), chunk.whole("FileSize")
    if "Permission" in chunk.batch.schema.names:
        files = pc.starts_with(chunk.text("Permission"), "-")
    else:
        files = pc.not_equal(chunk.whole("PreferredBlockSize"), 0)
    written = chunk.text("ModificationTime")
    times = pc.strptime(written, format=_IMAGE_TIME, unit="s", error_is_null=True)
    chunk.refuse_any(pc.is_null(times), "ModificationTime", "a time such as 2026-01-31 12:00")
    inside = relative(paths, source)
    elsewhere = pc.or_(absolute(inside), unsafe(inside))
    tally.add("elsewhere", paths.filter(pc.and_(files, elsewhere)))
    modified = pc.multiply(times.cast(pa.int64()), 1_000_000_000)
    batch = batch_of(path=inside, size=sizes, modified_ns=modified)
    return batch.filter(pc.and_not(files, elsewhere))


def _completed(
    batch: pa.RecordBatch, source: Location, where: Location, threads: ThreadPoolExecutor
) -> pa.RecordBatch:
    """Fill in missing sizes and times from storage, many at a time."""
    missing = pc.or_(*(pc.is_null(batch.column(name)) for name in _NUMBERS))
    at = pc.indices_nonzero(missing)
    if not len(at):
        return batch
    paths = batch.column("path").take(at).to_pylist()

    def look(path: str) -> Entry:
        try:
            return stat(source.child(path))
        except NotFound:
            raise BadTable(
                where=where,
                expected="recordings that are there, or their size and modified_ns",
                found=f"{path!r}, which is not below {source}",
                hint="Write the table again, or remove the line.",
            ) from None

    entries = list(threads.map(look, paths))
    for name in _NUMBERS:
        found = pa.array([getattr(entry, name) for entry in entries], pa.int64())
        whole = pc.replace_with_mask(batch.column(name), missing, found)
        batch = replaced(batch, **{name: whole})
    return batch
