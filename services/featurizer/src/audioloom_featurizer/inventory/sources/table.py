"""Read the list of recordings from a table instead of walking a folder.

A plain table has the column `path` and any of `size`, `modified_ns`, `label`, `target`, `group`.
The dump of an fsimage (`hdfs oiv -p Delimited`) has `Path`, `FileSize` and more.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.tables import BadTable, Chunk, Table
from audioloom_storage import Entry, Location, NotFound, stat

from audioloom_featurizer.inventory.paths import absolute, relative, unsafe
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, batch_of, replaced
from audioloom_featurizer.inventory.sources.walk import Skipped, choose

_NUMBERS = ("size", "modified_ns")
_IMAGE = ("Path", "FileSize", "ModificationTime", "PreferredBlockSize")
_IMAGE_TIME = "%Y-%m-%d %H:%M"
_THREADS = 16


def label_columns_in(table: Table) -> list[str]:
    """The columns among label, target and group that the table has."""
    return [name for name in LABEL_COLUMNS if name in table.names]


def recordings_in_table(
    table: Table, source: Location, suffixes: tuple[str, ...], skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings that a table lists, as batches of `ROWS`, in the table's order.

    As in a walk, hidden files and other suffixes are skipped. Storage is asked for a size or a time
    that the table lacks.

    Args:
        table: a plain table or the dump of an fsimage.
        source: the folder that paths are relative to; paths and URIs below it become relative.
        suffixes: the suffixes of recordings.
        skipped: counts the other files.

    Raises:
        BadTable: a path is not below the source, a value is not a number, a file is missing.
    """
    if set(_IMAGE) <= set(table.names):
        columns = (*_IMAGE, *(name for name in ("Permission",) if name in table.names))
        batches = _from_image(table.read(columns), source, skipped)
        for batch in batches:
            yield choose(batch, suffixes, skipped)
        return
    table.check(["path"])
    columns = ("path", *(name for name in (*_NUMBERS, *LABEL_COLUMNS) if name in table.names))
    with ThreadPoolExecutor(_THREADS, "stat") as threads:
        for chunk in table.read(columns):
            batch = choose(_from_ours(chunk, source), suffixes, skipped)
            yield _completed(batch, source, chunk.where, threads)


def _from_ours(chunk: Chunk, source: Location) -> pa.RecordBatch:
    paths = relative(chunk.text("path"), source)
    chunk.refuse_any(unsafe(paths), "path", f"a path below {source}, without '..'")
    chunk.refuse_any(absolute(paths), "path", f"a path below {source}")
    found = {"path": paths}
    for name in chunk.batch.schema.names:
        if name in _NUMBERS:
            found[name] = chunk.whole(name)
        elif name == "target":
            found[name] = chunk.number(name)
        elif name != "path":
            found[name] = chunk.text(name)
    return batch_of(**found)


def _from_image(
    chunks: Iterable[Chunk], source: Location, skipped: Skipped
) -> Iterator[pa.RecordBatch]:
    """Yield the files of an fsimage's dump that lie below the source.

    The dump has times in minutes, in the time zone of the machine that wrote it; they are read as
    UTC.
    """
    for chunk in chunks:
        paths, sizes = chunk.text("Path"), chunk.whole("FileSize")
        if "Permission" in chunk.batch.schema.names:
            folder = pc.invert(pc.starts_with(chunk.text("Permission"), "-"))
        else:
            folder = pc.equal(chunk.whole("PreferredBlockSize"), 0)
        times = pc.strptime(
            chunk.text("ModificationTime"), format=_IMAGE_TIME, unit="s", error_is_null=True
        )
        chunk.refuse_any(pc.is_null(times), "ModificationTime", "a time such as 2026-01-31 12:00")
        inside = relative(paths, source)
        elsewhere = pc.or_(absolute(inside), unsafe(inside))
        files = pc.invert(folder)
        outside = pc.and_(elsewhere, files)
        if away := pc.sum(outside).as_py():
            skipped.count("elsewhere", away, paths.filter(outside)[0].as_py())
        modified = pc.multiply(times.cast(pa.int64()), 1_000_000_000)
        batch = batch_of(path=inside, size=sizes, modified_ns=modified)
        yield batch.filter(pc.and_(files, pc.invert(elsewhere)))


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
    found = {
        "size": pa.array([entry.size for entry in entries], pa.int64()),
        "modified_ns": pa.array([entry.modified_ns for entry in entries], pa.int64()),
    }
    columns = {
        name: pc.replace_with_mask(batch.column(name), missing, found[name]) for name in found
    }
    return replaced(batch, **columns)
