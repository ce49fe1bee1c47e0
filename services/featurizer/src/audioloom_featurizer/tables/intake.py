"""Read a table of windows once: check its rows, put their values aside, add up their digest.

The values go to a local file in the order of the table. The other columns, which are small, can
then be sorted.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedRandom
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.tables import BadTable, Chunk, Table
from audioloom_stage.progress_bar import Progress
from numpy.typing import NDArray

from audioloom_featurizer.errors import BadWindows, Unlabelled
from audioloom_featurizer.inventory.schema import without_label
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.settings import ImportSettings
from audioloom_featurizer.tables.columns import TEXTS, VALUES, WINDOWS, kind_of, read_columns
from audioloom_featurizer.tables.recipe import DEFAULT_RATE
from audioloom_featurizer.tables.values import ValuesForm, WrongValues, check_depth, read_values

_CHUNK_BYTES = 8 << 20
_MOST_ROWS = 8192
_MODULUS = 1 << 256
"""Digests of windows are added up, so that their order does not matter."""

TAKEN = pa.schema(
    [
        *WINDOWS,
        pa.field("order", pa.string()),
        pa.field("content", pa.binary(32)),
        pa.field("position", pa.int64()),
    ]
)
"""A window that was taken.

`order` is the text to sort by, `content` the SHA-256 of its values, and `position` their place in
the file.
"""


@dataclass
class Intake:
    """What was read of a table so far.

    Attributes:
        columns: those of `window_columns`.
        file: receives the values; a row at *position* begins at *position* × the width of a window.
        tally: windows that were read, and those without label or with values that are no numbers.
        taken: number of the windows that were taken.
        mixed: no window is of one channel.
    """

    table: Table
    columns: Mapping[str, str]
    form: ValuesForm
    settings: ImportSettings
    file: BufferedRandom
    tally: Tally = field(default_factory=Tally)
    taken: int = 0
    mixed: bool = True
    _sum: int = 0
    _kinds: dict[str, tuple[str, object]] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest of the windows that were taken, whatever their order.

        It is of the sum of the digests of all windows.
        """
        return hashlib.sha256(f"{self.taken} {self._sum:x}".encode()).hexdigest()

    def batches(self, bar: Progress) -> Iterator[pa.RecordBatch]:
        """Take the windows: batches of `TAKEN`, in the order of the table.

        Raises:
            BadTable: a column has another type, or a value is out of range.
            BadWindows: a row has values of another shape; after the last row: some were not finite.
            Unlabelled: after the last row, windows have no label.
        """
        rows = max(1, min(_MOST_ROWS, _CHUNK_BYTES // (8 * self.form.count)))
        rate = self.settings.sample_rate or DEFAULT_RATE
        samples = round((self.settings.window_seconds or 0) * rate)
        for chunk in self.table.read(list(dict.fromkeys(self.columns.values())), rows):
            bar.advance(chunk.batch.num_rows)
            self._check_types(chunk)
            batch = read_columns(chunk, self.columns, self.form, samples)
            values = self._values(chunk, batch)
            batch, values = self._labelled(batch, values)
            infinite = pa.array(~np.isfinite(values).all(axis=1))
            self.tally.add("infinite", names_of(batch.filter(infinite)))
            if batch.num_rows:
                yield self._put_aside(batch, values)
        self._check()

    def _check_types(self, chunk: Chunk) -> None:
        """Compare the types of a file with those of the files before it."""
        texts = (self.columns[name] for name in TEXTS if name in self.columns)
        found = {column: kind_of(chunk.batch.column(column).type) for column in texts}
        depth = check_depth(chunk, self.columns[VALUES])
        found[self.columns[VALUES]] = ("binary", "lists", "lists of lists")[depth]
        for column, kind in found.items():
            before, where = (
                self._kinds.setdefault(column, (kind, chunk.where)) if kind else ("", "")
            )
            if before != kind:
                raise BadTable(
                    where=f"{chunk.where}, column {column}",
                    expected=f"{before} as in {where}",
                    found=f"{kind}, of the type {chunk.batch.column(column).type}",
                    hint="Write all files with one type.",
                )

    def _values(self, chunk: Chunk, batch: pa.RecordBatch) -> NDArray[np.floating]:
        try:
            return read_values(chunk.batch.column(self.columns[VALUES]), self.form)
        except WrongValues as wrong:
            name = names_of(batch.slice(wrong.row, 1))[0]
            raise BadWindows(
                where=f"{chunk.where}, row {chunk.first + wrong.row}, {name}",
                expected=f"{self.form} as in the first row",
                found=wrong.found,
                hint="Every window has values of one shape.",
            ) from None

    def _labelled(
        self, batch: pa.RecordBatch, values: NDArray[np.floating]
    ) -> tuple[pa.RecordBatch, NDArray[np.floating]]:
        """Count the windows without label and target, and drop them if the settings say so."""
        nameless = without_label(batch)
        names = names_of(batch.filter(nameless))
        self.tally.counts["listed"] += batch.num_rows
        self.tally.add("unlabelled", names)
        if self.settings.unlabelled != "drop" or not len(names):
            return batch, values
        self.tally.add("dropped", names)
        kept = pc.invert(nameless)
        return batch.filter(kept), values[kept.to_numpy(zero_copy_only=False)]

    def _put_aside(self, batch: pa.RecordBatch, values: NDArray[np.floating]) -> pa.RecordBatch:
        self.file.write(values.tobytes())
        contents = [hashlib.sha256(row.tobytes()).digest() for row in values]
        for row, content in zip(batch.to_pylist(), contents, strict=True):
            digest = hashlib.sha256(canonical_bytes(list(row.values())) + content).digest()
            self._sum = (self._sum + int.from_bytes(digest, "big")) % _MODULUS
        places = range(self.taken, self.taken + batch.num_rows)
        self.taken += batch.num_rows
        channels = batch.column("channel")
        self.mixed = self.mixed and not pc.any(pc.greater_equal(channels, 0)).as_py()
        columns: dict[str, Any] = {name: batch.column(name) for name in WINDOWS.names}
        columns |= {"order": _orders(batch), "content": contents, "position": list(places)}
        return pa.RecordBatch.from_pydict(columns, schema=TAKEN)

    def _check(self) -> None:
        """Refuse what was counted on the way."""
        counts, listed = self.tally.counts, self.tally.counts["listed"]
        if infinite := counts["infinite"]:
            raise BadWindows(
                "values are not finite",
                where=self.table.where,
                expected=f"finite numbers of {self.form.dtype} in every window",
                found=f"NaN or infinite ones in {infinite} of {listed} windows, such as"
                f" {', '.join(self.tally.examples['infinite'])}",
                hint="Leave these windows out, or check the program that wrote them.",
            )
        refused = self.settings.unlabelled == "refuse" and counts["unlabelled"]
        if refused or not self.taken:
            raise Unlabelled(
                "windows have no label" if refused else "no window is left",
                where=self.table.where,
                expected="a label or a target for each" if refused else "some with a label",
                found=f"{counts['unlabelled']} of {listed} without, such as"
                f" {', '.join(self.tally.examples['unlabelled'])}",
                hint="Name their column with --columns label=COLUMN, or see --unlabelled.",
            )


def names_of(batch: pa.RecordBatch | pa.Table) -> pa.StringArray:
    """How windows are named in messages: by recording, window, and channel."""
    names = []
    for row in batch.select(["path", "member", "window", "channel"]).to_pylist():
        recording = "!".join(filter(None, (row["path"], row["member"])))
        channel = f", channel {row['channel']}" if row["channel"] >= 0 else ""
        names.append(f"window {row['window']} of {recording[:200]!r}{channel}")
    return pa.array(names, pa.string())


def _orders(batch: pa.RecordBatch) -> list[str]:
    """Texts in the order of path, window and channel; a path holds no zero byte."""
    columns = (batch.column(name).to_pylist() for name in ("path", "window", "channel"))
    return [
        f"{path}\0{window:010d}\0{channel + 1:03d}"
        for path, window, channel in zip(*columns, strict=True)
    ]
