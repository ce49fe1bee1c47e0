"""The columns of a table of windows: their names, and their values as a features file has them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.envelope import MOST_PATH_BYTES
from audioloom_manifest.parquet import WINDOW
from audioloom_manifest.tables import BadTable, Chunk, Table

from audioloom_featurizer.extraction.feature import check_feature_name
from audioloom_featurizer.inventory.parquet import MOST_LABEL
from audioloom_featurizer.tables.values import ValuesForm

VALUES = "values"
REQUIRED = (VALUES, "path")

MIXED = -1
"""The number of the channel that is the mix of all."""

_KEY = ("path", "member", "window", "channel")
WINDOWS = pa.schema(
    [(name, WINDOW.field(name).type) for name in dict.fromkeys((*_KEY, *WINDOW.names))]
)
"""The columns of a window but its values, in the order of their digest."""

TEXTS = ("path", "member", "label", "group")
"""Columns that are names: of one kind in all files of a table."""
_OTHER_NAMES = {"path": ("key",), "valid_frames": ("length",)}
_DEFAULTS: dict[str, Any] = {
    "window": 0,
    "channel": MIXED,
    "start_seconds": 0.0,
    "recording_bytes": 0,
    "recording_seconds": 0.0,
    "recording_rate": 0,
    "recording_channels": 0,
    "recording_format": "unknown",
}


def window_columns(table: Table, named: Mapping[Any, str], feature: str) -> dict[str, str]:
    """Map the columns of a window to those of a table, as far as it has them.

    A column has the name that *named* says, or its own; that of the values may also be called like
    the *feature*.

    Raises:
        BadTable: there are no values or no path, or a column of *named* is missing.
        InvalidOption: the feature has the name of another column of features files.
    """
    check_feature_name(feature, f"--feature-name {feature}")
    found = dict(named)
    for name in (VALUES, *WINDOWS.names):
        other = (feature,) if name == VALUES else _OTHER_NAMES.get(name, ())
        known = [each for each in (name, *other) if each in table.names]
        if name not in found and known:
            found[name] = known[0]
    for name in REQUIRED:
        if name not in found:
            raise BadTable(
                where=table.where,
                expected=f"a column {name}",
                found=f"the columns {', '.join(table.names)[:300]}",
                hint=f"Name it: --columns {name}=COLUMN, in Python columns={{'{name}': 'COLUMN'}}.",
            )
    table.check(list(found.values()))
    return found


def kind_of(kind: pa.DataType) -> str:
    """The kind of a column of text, so that parts of a table can be compared; "" for no values."""
    if pa.types.is_null(kind):
        return ""
    return "whole numbers" if pa.types.is_integer(kind) else "text"


def read_columns(
    chunk: Chunk, columns: Mapping[str, str], form: ValuesForm, window_samples: int
) -> pa.RecordBatch:
    """Read the columns of a chunk, all but the values, as a batch of `WINDOWS`.

    A window without `valid_frames` has all frames of the form; *window_samples* is 0 if nobody
    knows the samples of a window.

    Raises:
        BadTable: a value has the wrong type, or is out of range.
    """
    rows = chunk.batch.num_rows
    frames = form.shape[1]
    found = {
        field.name: _read(chunk, columns[field.name], field)
        if field.name in columns
        else pa.nulls(rows, field.type)
        for field in WINDOWS
    }
    _check_text(chunk, columns, found)
    for name, value in {**_DEFAULTS, "valid_frames": frames}.items():
        found[name] = pc.fill_null(found[name], pa.scalar(value, WINDOWS.field(name).type))
    if "valid_frames" in columns:
        expected = f"at most {frames}, the frames of a window"
        chunk.refuse_any(
            pc.greater(found["valid_frames"], frames), columns["valid_frames"], expected
        )
    if "valid_samples" not in columns:
        valid = found["valid_frames"].to_pylist()
        samples = [round(each * window_samples / frames) for each in valid]
        found["valid_samples"] = pa.array(samples, pa.int32())
    found["valid_samples"] = pc.fill_null(found["valid_samples"], 0)
    found["flags"] = pc.if_else(
        pc.is_null(found["flags"]), pa.scalar([], WINDOWS.field("flags").type), found["flags"]
    )
    return pa.RecordBatch.from_pydict(found, schema=WINDOWS)


def _read(chunk: Chunk, column: str, field: pa.Field) -> pa.Array:
    kind = field.type
    if pa.types.is_string(kind):
        return chunk.text(column)
    if pa.types.is_list(kind):
        return _flags(chunk, column)
    numbers = chunk.number(column)
    if pa.types.is_floating(kind):
        return numbers
    least = MIXED if field.name == "channel" else 0
    most = 2 ** (kind.bit_width - 1) - 1
    fits = pc.and_(pc.greater_equal(numbers, least), pc.less_equal(numbers, float(most)))
    wrong = pc.invert(pc.and_(fits, pc.equal(numbers, pc.floor(numbers))))
    chunk.refuse_any(wrong, column, f"a whole number from {least} to {most}")
    return numbers.cast(kind)


def _flags(chunk: Chunk, column: str) -> pa.Array:
    found = chunk.batch.column(column)
    try:
        flags = found.cast(WINDOWS.field("flags").type)
    except pa.ArrowException:
        raise chunk.bad(0, column, f"lists of text, not {found.type}") from None
    if pc.list_flatten(flags).null_count:
        raise chunk.bad(0, column, "lists of text without null")
    return flags


def _check_text(chunk: Chunk, columns: Mapping[str, str], found: Mapping[str, pa.Array]) -> None:
    expected = f"the name of a recording in each row, of at most {MOST_PATH_BYTES} bytes"
    nameless = pc.is_null(found["path"])
    chunk.refuse_any(pc.or_kleene(nameless, _odd(found["path"])), columns["path"], expected)
    for name, wrong, expected in (
        ("member", _odd(found["member"]), f"a name of at most {MOST_PATH_BYTES} bytes"),
        (
            "label",
            pc.greater(pc.utf8_length(found["label"]), MOST_LABEL),
            f"a label of at most {MOST_LABEL} characters",
        ),
        (
            "recording_sha256",
            pc.invert(pc.match_substring_regex(found["recording_sha256"], r"^[0-9a-f]{64}\z")),
            "a SHA-256 in lower-case hex",
        ),
    ):
        if name in columns:
            chunk.refuse_any(wrong, columns[name], expected)


def _odd(names: pa.StringArray) -> pa.BooleanArray:
    return pc.or_(
        pc.match_substring(names, "\0"), pc.greater(pc.binary_length(names), MOST_PATH_BYTES)
    )
