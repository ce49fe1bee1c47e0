from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.errors import BadLabels
from audioloom_featurizer.inventory import parquet
from audioloom_featurizer.inventory.labels.path_pattern import compile_pattern, label_by_pattern
from audioloom_featurizer.inventory.parquet import (
    LISTING_COLUMNS,
    InventorySummary,
    read_batches,
    read_rows,
    row_lines,
    write_inventory,
)
from audioloom_featurizer.inventory.schema import batch_of
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.streams import sorted_batches
from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.parquet import BadParquet
from audioloom_stage.errors import BadData
from audioloom_storage import Location, locate
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


Recording = tuple[str, int, int]


def rows(listed: Iterable[Recording]) -> pa.RecordBatch:
    paths, sizes, times = ([list(each) for each in zip(*listed, strict=True)]) or ([], [], [])
    return batch_of(path=paths, size=sizes, modified_ns=times)


def write(
    listed: Iterable[Recording], pattern: str | None = None
) -> tuple[bytes, InventorySummary]:
    """The bytes of an inventory, and what is said of it."""
    batches = iter([rows(listed)])
    if pattern is not None:
        batches = label_by_pattern(batches, compile_pattern(pattern), Tally())
    out = io.BytesIO()
    told = write_inventory(out, sorted_batches(batches, "path"), "here")
    return out.getvalue(), told


def written(folder: Path, listed: Iterable[Recording]) -> Location:
    (folder / "inventory.parquet").write_bytes(write(listed)[0])
    return locate(folder / "inventory.parquet")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"<html>"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, data: bytes) -> None:
    """The error names the file."""
    (tmp_path / "x.parquet").write_bytes(data)
    with pytest.raises(BadParquet, match=r"x\.parquet"):
        list(read_batches(locate(tmp_path / "x.parquet")))


def test_a_label_that_no_shard_can_hold_is_refused() -> None:
    """Before the features of all recordings are computed."""
    for length, refused in ((1000, False), (1001, True)):
        batch = batch_of(path=["a.wav"], size=[1], modified_ns=[1], label=["é" * length])
        with pytest.raises(BadLabels, match="1001") if refused else nullcontext():
            write_inventory(io.BytesIO(), iter([batch]), "here")


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    """The error names the column, the type expected and the type found."""
    pq.write_table(pa.table({"path": [1]}), tmp_path / "x.parquet")
    with pytest.raises(BadParquet, match="column path of type string, found int64"):
        list(read_batches(locate(tmp_path / "x.parquet")))


@given(st.sets(NAMES, min_size=1))
def test_rows_are_sorted_by_the_bytes_of_their_path(names: set[str]) -> None:
    """Whatever order the walk met them in: the order of UTF-8 bytes, the same on every machine."""
    data, _ = write((name, 1, 2) for name in names)
    assert sorted(names, key=str.encode) == pq.read_table(io.BytesIO(data))["path"].to_pylist()


def test_the_digest_is_of_the_listing_alone() -> None:
    """Order of listing and labels do not change it; a size, a time or a path does."""
    listed = [("a/x-1", 1, 2), ("b/x-2", 3, 4)]
    plain, labelled = write(listed)[1], write(listed, "(?P<label>.)/.*")[1]
    listing = plain.listing_digest.hexdigest()
    assert listing == write(listed[::-1])[1].listing_digest.hexdigest()
    assert listing == labelled.listing_digest.hexdigest()
    assert plain.labelling_digest.hexdigest() != labelled.labelling_digest.hexdigest()
    later = write([("a/x-1", 1, 5), ("b/x-2", 3, 4)])[1]
    assert listing != later.listing_digest.hexdigest()


@given(st.lists(st.tuples(st.text(), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))))
def test_the_digest_is_of_lines_of_canonical_json(listed: list[Recording]) -> None:
    """As the contract says it, whatever stands in a path."""
    found = row_lines(rows(listed), LISTING_COLUMNS) if listed else b""
    assert b"".join(canonical_bytes(list(each)) + b"\n" for each in listed) == found


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))))
def test_targets_are_written_as_canonical_json(targets: list[float | None]) -> None:
    """The digest of labels does not depend on who writes the numbers."""
    batch = pa.record_batch([pa.array(targets, pa.float64())], ["target"])
    lines = b"".join(canonical_bytes([each]) + b"\n" for each in targets)
    assert lines == row_lines(batch, ("target",))


def test_too_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest holds a bounded number: more are more likely groups."""
    monkeypatch.setattr(parquet, "MOST_LABELS", 2)
    with pytest.raises(BadData, match="at most 2 different labels"):
        write([(f"{each}/x", 1, 1) for each in "abc"], "(?P<label>.)/.*")


def test_counts() -> None:
    """What a pattern does not describe stays in the inventory, unlabelled."""
    pattern = "(?P<label>[ab])/(?P<group>.)"
    stats = write([(path, 5, 1) for path in ("b/2", "a/1", "c/3")], pattern)[1].stats()
    assert (3, 15, 2, 2) == (stats.recordings, stats.bytes, stats.labelled, stats.grouped)
    assert {"a": 1, "b": 1} == stats.labels


@pytest.mark.parametrize("rows_per_group", [1, 3, 100])
def test_any_slice_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_group: int
) -> None:
    """A unit's rows are found whatever row groups they lie in."""
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", rows_per_group)
    where = written(tmp_path, [(f"{number}", number, 0) for number in range(10)])
    for first in range(10):
        for rows in range(1, 11 - first):
            paths = read_rows(where, first, rows).column("path").to_pylist()
            assert [str(number) for number in range(first, first + rows)] == paths
