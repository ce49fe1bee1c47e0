"""The inventory as a Parquet file: one row per recording, sorted by path; digests and counts."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_manifest.canonical import canonical_number
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.file_list import check_file
from audioloom_manifest.kinds import RecordingsManifest, RecordingsStats
from audioloom_manifest.parquet import INVENTORY, open_parquet, table_writer
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location, open_read

from audioloom_featurizer.errors import BadInventory, BadLabels
from audioloom_featurizer.inventory.schema import batch_of, in_groups, without_label

ROLE = "inventory"
ROWS_PER_GROUP = 8192
"""Small against a unit, which reads every row group that holds one of its rows."""

MOST_LABELS = 100_000
MOST_LABEL = 1000
"""Characters of a label, as shards can hold."""

LISTING_COLUMNS = ("path", "size", "modified_ns")
LABELLING_COLUMNS = ("path", "label", "target", "group")

Row = dict[str, Any]


class InventorySummary:
    """Sums the counts and the digests of an inventory, batch by batch.

    Attributes:
        labels: recordings by label.
        listing_digest: SHA-256 of `LISTING_COLUMNS`; it does not depend on labels.
        labelling_digest: SHA-256 of `LABELLING_COLUMNS`.
    """

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.listing_digest = hashlib.sha256()
        self.labelling_digest = hashlib.sha256()
        self._counts = Counter(recordings=0, bytes=0, labelled=0, grouped=0)

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Add rows."""
        nameless = without_label(rows)
        self._counts.update(
            recordings=rows.num_rows,
            bytes=pc.sum(rows.column("size")).as_py() or 0,
            labelled=pc.sum(pc.invert(nameless)).as_py() or 0,
            grouped=rows.num_rows - rows.column("group").null_count,
        )
        for each in pc.value_counts(rows.column("label").drop_null()).to_pylist():
            self.labels[each["values"]] += each["counts"]
        self.listing_digest.update(row_lines(rows, LISTING_COLUMNS))
        self.labelling_digest.update(row_lines(rows, LABELLING_COLUMNS))

    def stats(self) -> RecordingsStats:
        """The counts of all rows."""
        return RecordingsStats(labels=dict(sorted(self.labels.items())), **self._counts)


def write_inventory(
    sink: Any, batches: Iterable[pa.RecordBatch], where: object
) -> InventorySummary:
    """Write batches of `ROWS`, in the order of their paths, in row groups of `ROWS_PER_GROUP`.

    Raises:
        BadData: there are more labels than a manifest may hold, or one is too long.
    """
    summary = InventorySummary()
    recordings = (
        batch_of(INVENTORY, **dict(zip(batch.schema.names, batch.columns, strict=True)))
        for batch in batches
    )
    with table_writer(sink, INVENTORY) as writer:
        for rows in in_groups(recordings, ROWS_PER_GROUP):
            writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
            summary.add(rows)
            check_labels(summary.labels, where)
            _check_lengths(rows, where)
    return summary


def _check_lengths(rows: pa.Table, where: object) -> None:
    lengths = pc.utf8_length(rows.column("label"))
    long = rows.filter(pc.greater(lengths, MOST_LABEL))
    if long.num_rows:
        path, label = (long.column(name)[0].as_py() for name in ("path", "label"))
        raise BadLabels(
            where=where,
            expected=f"labels of at most {MOST_LABEL} characters",
            found=f"one of {len(label)} characters for {path!r}, {label[:50]!r}…",
        )


def check_labels(labels: Collection[str], where: object) -> None:
    """Raise `BadData` for more different labels than a manifest may hold."""
    if len(labels) > MOST_LABELS:
        raise BadData(
            "too many labels",
            where=where,
            expected=f"at most {MOST_LABELS} different labels",
            found=f"more, such as {next(iter(labels))}",
            hint="Is the label rather a group, or a target?",
        )


def row_lines(rows: pa.RecordBatch | pa.Table, columns: Sequence[str]) -> bytes:
    """Some columns of all rows: a line of canonical JSON for each row, with the member if any.

    `canonical_bytes` is not used because it would take a minute for ten million rows.
    """
    texts = [_as_json(rows.column(name)) for name in columns]
    lines: Iterable[str] = map(",".join, zip(*texts, strict=True))
    if "member" in rows.schema.names and rows.column("member").null_count < len(rows):
        members = rows.column("member").to_pylist()
        lines = [
            line if member is None else f"{line},{encode_basestring(member)}"
            for line, member in zip(lines, members, strict=True)
        ]
    return "".join(f"[{line}]\n" for line in lines).encode()


def _as_json(column: pa.Array | pa.ChunkedArray) -> list[str]:
    write: Callable[[Any], str] = repr
    if pa.types.is_string(column.type):
        write = encode_basestring
    elif pa.types.is_floating(column.type):
        write = canonical_number
    return ["null" if value is None else write(value) for value in column.to_pylist()]


def inventory_location(opened: Opened[RecordingsManifest]) -> Location:
    """Check the checksum of a recordings manifest's inventory and return its location.

    Parquet does not notice every damaged byte, so a damaged file could give other rows.

    Raises:
        BadInventory: the manifest does not list exactly one inventory.
        MissingFile, WrongChecksum: the file is missing or was changed after the commit.
    """
    entry = only_file(opened, ROLE)
    check_file(opened.folder, entry)
    return opened.folder / entry.path


def only_file(opened: Opened[Any], role: str) -> FileEntry:
    """The one file of a run with this role; raise `BadInventory` unless there is one."""
    entries = opened.files(role)
    if len(entries) != 1:
        expected = f"one file with the role {role}"
        raise BadInventory(where=opened.location, expected=expected, found=len(entries))
    return entries[0]


def read_tables(
    opened: Opened[Any], role: str, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Read the data files of a run that have this role, one after another."""
    for entry in opened.files(role):
        with open_read(opened.folder / entry.path) as stream:
            yield pq.read_table(stream, columns=columns, use_threads=False)


def read_batches(
    location: Location, columns: Sequence[str] = INVENTORY.names
) -> Iterator[pa.RecordBatch]:
    """Read the rows of an inventory, as many at a time as a row group has."""
    with open_parquet(location, INVENTORY) as file:
        yield from file.iter_batches(ROWS_PER_GROUP, columns=list(columns), use_threads=False)


def formats_in(location: Location) -> dict[str, tuple[int, int]]:
    """Count the recordings of an inventory and their bytes by suffix, the most bytes first."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for batch in read_batches(location, ["path", "size"]):
        path, size = batch.columns
        suffix = pc.utf8_lower(pc.replace_substring_regex(path, r"^.*?(\.[^./]*)?$", r"\1"))
        grouped = pa.table({"suffix": suffix, "size": size}).group_by("suffix")
        for row in grouped.aggregate([("size", "count"), ("size", "sum")]).to_pylist():
            counts[row["suffix"]] += row["size_count"]
            sizes[row["suffix"]] += row["size_sum"]
    return {suffix: (counts[suffix], size) for suffix, size in sizes.most_common()}


def read_recordings(location: Location, paths: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Read the rows of an inventory that have these paths."""
    wanted = pa.array(list(paths), pa.string())
    for batch in read_batches(location):
        yield batch.filter(pc.is_in(batch.column("path"), value_set=wanted))


def read_rows(location: Location, first: int, rows: int) -> pa.Table:
    """Read rows *first* … *first + rows* - 1, and no row group without one of them."""
    found = [INVENTORY.empty_table()]
    with open_parquet(location, INVENTORY) as file:
        begin = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            low, high = max(first, begin), min(first + rows, begin + size)
            if low < high:
                table = file.read_row_group(group, columns=INVENTORY.names, use_threads=False)
                found.append(table.slice(low - begin, high - low))
            begin += size
    return pa.concat_tables(found)
