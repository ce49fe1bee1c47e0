"""Read a part of a features run: some files, and in them the values of some windows of each label.

Needs the extras `audioloom-manifest[parquet,records]`. However large the run is, the files, rows
and values that are read are bounded.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from audioloom_storage import Location

from audioloom_manifest.feature_sample import COLUMNS, FILES, ROWS, FeatureSample, Picture
from audioloom_manifest.kinds import Feature, FeaturesManifest
from audioloom_manifest.parquet import LEDGER, feature_bytes, features_schema, open_parquet
from audioloom_manifest.reader import Opened

_MOST_ROWS = 200_000
_BATCH_ROWS = 1024
_MOST_LABELS = 12
_MOST_WINDOWS = 24  # of a label, for its picture
_AT_ONCE = 12  # of one row group, so that several recordings make the picture
_MOST_GROUPS = 32  # row groups whose values are read
_MOST_GROUP_BYTES = 256 << 20
_MOST_VALUE_BYTES = 16 << 20
_EXAMPLES = 3
_masked: Any = np.ma  # which has no types
_COLUMNS = ["path", "label", "group", "flags", "recording_seconds", "valid_frames"]


def read_feature_sample(opened: Opened[FeaturesManifest], files: int = FILES) -> FeatureSample:
    """Read at most *files* features files, spread evenly over the run, and some of the ledger.

    Raises:
        BadParquet: a file is not Parquet, or has other columns.
        StorageError: a file cannot be read.
    """
    entries = opened.files("features")
    chosen = entries[:: max(1, math.ceil(len(entries) / files))]
    sample = FeatureSample(len(chosen), len(entries))
    values = _Values(opened.manifest)
    for entry in chosen:
        _read(opened.folder / entry.path, sample, values)
    sample.pictures = values.pictures()
    for entry in opened.files("ledger")[:files]:
        _read_ledger(opened.folder / entry.path, sample)
    return sample


def _read(where: Location, sample: FeatureSample, values: "_Values") -> None:
    """Count the rows of a file up to a limit, and keep the values of some of them."""
    name, left, path = values.feature.name, _MOST_ROWS // sample.files, None
    labels = {label: label for label in values.wanted}
    with open_parquet(where, features_schema(values.feature)) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            size = max(group.total_byte_size, group.num_rows * feature_bytes(values.feature))
            if left <= 0 or size > _MOST_GROUP_BYTES:
                break
            # In batches, for repeated texts take no bytes in the file.
            rows: list[tuple[str | None, int]] = []
            for batch in file.iter_batches(
                _BATCH_ROWS, row_groups=[number], columns=_COLUMNS, use_threads=False
            ):
                part = batch.slice(0, left).to_pylist()
                left -= len(part)
                path = _count(sample, part, path)
                rows += [(labels.get(row["label"]), row["valid_frames"]) for row in part]
                if left <= 0:
                    break
            if number < max(1, _MOST_GROUPS // sample.files) and any(values.wanted.values()):
                table = file.read_row_group(number, columns=[name], use_threads=False)
                values.keep(table[name], rows)


def _count(
    sample: FeatureSample, rows: Sequence[Mapping[str, Any]], path: str | None
) -> str | None:
    """Count rows; *path* is the recording of the row before them, and that of the last returns."""
    for row in rows:
        sample.windows += 1
        sample.frames += row["valid_frames"]
        sample.flags.update(row["flags"])
        if row["path"] != path:
            path = row["path"]
            sample.recordings.setdefault(row["label"], Counter())[row["group"]] += 1
            sample.seconds.append(row["recording_seconds"])
    return path


class _Values:
    """The values of some windows of the most frequent labels; without labels, of any windows."""

    def __init__(self, manifest: FeaturesManifest) -> None:
        self.feature: Feature = manifest.recipe.feature
        labels: list[str | None]
        labels = [label for label, _ in Counter(manifest.stats.labels).most_common(_MOST_LABELS)]
        room = _MOST_VALUE_BYTES // (max(1, len(labels)) * feature_bytes(self.feature))
        self.wanted: dict[str | None, int] = dict.fromkeys(
            labels or [None], min(_MOST_WINDOWS, max(1, room))
        )
        self._parts: dict[str | None, list[Any]] = defaultdict(list)

    def keep(self, column: pa.ChunkedArray, rows: Sequence[tuple[str | None, int]]) -> None:
        """Keep the values of some rows of each label that lacks windows, spread evenly.

        Args:
            column: the values of a row group.
            rows: the label and the recorded frames of its first rows.
        """
        shape, dtype = self.feature.shape, np.dtype(self.feature.dtype).newbyteorder("<")
        for label, wanted in self.wanted.items():
            of_label = [n for n, (other, _) in enumerate(rows) if label in (None, other)]
            count = min(wanted, _AT_ONCE, len(of_label))
            if not count:
                continue
            places = [of_label[len(of_label) * n // count] for n in range(count)]
            data = b"".join(column.take(places).to_pylist())
            found = np.frombuffer(data, dtype).astype(np.float32).reshape(count, *shape)
            recorded = np.array([rows[place][1] for place in places])[:, None]
            padding = (np.arange(shape[1]) >= recorded)[:, None, :]
            sizes = np.abs(found) if shape[0] == 1 else found  # samples have mean 0
            self._parts[label].append(_masked.array(sizes, mask=padding | ~np.isfinite(found)))
            self.wanted[label] -= count

    def pictures(self) -> dict[str | None, Picture]:
        """Make the pictures of all labels on one scale."""
        if not self._parts:
            return {}
        found = [label for label in self.wanted if label in self._parts]
        stacks = {label: _masked.concatenate(self._parts[label]) for label in found}
        whole = _masked.concatenate([*stacks.values()])
        mean = whole.mean(axis=(0, 2), dtype=np.float64)[:, None]
        deviation = whole.std(axis=(0, 2), dtype=np.float64)[:, None]
        deviation[deviation == 0] = 1.0
        return {
            label: Picture(
                len(stack),
                _averaged((stack.mean(axis=0, dtype=np.float64) - mean) / deviation),
                np.quantile(stack.compressed(), (0.05, 0.5, 0.95)).tolist(),
            )
            for label, stack in stacks.items()
            if stack.count()
        }


def _averaged(matrix: Any) -> list[list[float | None]]:
    """Average neighbours, so that at most `ROWS` × `COLUMNS` are left."""
    for axis, most in enumerate((ROWS, COLUMNS)):
        parts = np.array_split(matrix, min(most, matrix.shape[axis]), axis)
        matrix = _masked.stack([part.mean(axis) for part in parts], axis)
    found: list[list[float | None]] = matrix.tolist()
    return found


def _read_ledger(where: Location, sample: FeatureSample) -> None:
    """Read some refused recordings of each class."""
    left = _MOST_ROWS
    with open_parquet(where, LEDGER) as file:
        for batch in file.iter_batches(8192, columns=["class", "path", "message"]):
            for row in batch.to_pylist():
                examples = sample.refusals.setdefault(row["class"], [])
                if len(examples) < _EXAMPLES:
                    examples.append((row["path"], row["message"]))
            left -= batch.num_rows
            if left <= 0:
                break
