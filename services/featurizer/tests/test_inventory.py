from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer import inventory
from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.inventory import (
    build_inventory,
    count,
    listing_digest,
    read_batches,
    read_rows,
    write_inventory,
)
from audioloom_featurizer.labels import compile_pattern
from audioloom_featurizer.listing import Listed
from audioloom_storage import Location, locate
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


def written(folder: Path, listed: list[Listed]) -> Location:
    out = io.BytesIO()
    write_inventory(out, build_inventory(listed, None).table)
    (folder / "inventory.parquet").write_bytes(out.getvalue())
    return locate(folder / "inventory.parquet")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"<html>"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, data: bytes) -> None:
    """The error names the file."""
    (tmp_path / "x.parquet").write_bytes(data)
    with pytest.raises(BadInventory, match=r"x\.parquet"):
        list(read_batches(locate(tmp_path / "x.parquet")))


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    """The error names the column, the type expected and the type found."""
    pq.write_table(pa.table({"path": [1]}), tmp_path / "x.parquet")
    with pytest.raises(BadInventory, match="column path of type string, found int64"):
        list(read_batches(locate(tmp_path / "x.parquet")))


@given(st.sets(NAMES))
def test_rows_are_sorted_by_the_bytes_of_their_path(names: set[str]) -> None:
    """Whatever order the walk met them in: the order of UTF-8 bytes, the same on every machine."""
    table = build_inventory((Listed(name, 1, 2) for name in names), None).table
    assert sorted(names, key=str.encode) == table.column("path").to_pylist()


def test_the_digest_is_of_the_listing_alone() -> None:
    """Order of listing and labels do not change it; a size, a time or a path does."""
    listed = [Listed("a/x-1", 1, 2), Listed("b/x-2", 3, 4)]
    pattern = compile_pattern("(?P<label>.)/.*")

    def digest(those: list[Listed], labelled: bool = False) -> str:
        found = build_inventory(those, pattern if labelled else None)
        return listing_digest(found.table.to_batches())

    assert digest(listed) == digest(listed[::-1]) == digest(listed, labelled=True)
    others = [Listed("a/x-1", 1, 5), Listed("b/x-2", 3, 4)]
    assert digest(listed) != digest(others)


def test_counts_and_matches() -> None:
    """What a pattern does not describe stays in the inventory, unlabelled."""
    pattern = compile_pattern("(?P<label>[ab])/(?P<group>.)")
    found = build_inventory([Listed(path, 5, 1) for path in ("b/2", "a/1", "c/3")], pattern)
    stats = count(found.table.to_batches())
    assert 2 == found.matched
    assert (3, 15, 2, 2) == (stats.recordings, stats.bytes, stats.labelled, stats.grouped)
    assert {"a": 1, "b": 1} == stats.labels


@pytest.mark.parametrize("rows_per_group", [1, 3, 100])
def test_any_slice_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_group: int
) -> None:
    """A unit's rows are found whatever row groups they lie in."""
    monkeypatch.setattr(inventory, "ROWS_PER_GROUP", rows_per_group)
    where = written(tmp_path, [Listed(f"{number}", number, 0) for number in range(10)])
    for first in range(10):
        for rows in range(1, 11 - first):
            paths = [row["path"] for row in read_rows(where, first, rows)]
            assert [str(number) for number in range(first, first + rows)] == paths
