from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_manifest import tables
from audioloom_manifest.tables import BadTable, open_table
from audioloom_storage import locate


def texts(path: Path, *columns: str) -> list[list[str | None]]:
    table = open_table(locate(path))
    return [
        value
        for chunk in table.read(columns)
        for value in zip(*(chunk.text(name).to_pylist() for name in columns), strict=True)
    ]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "first line"),
        (b"\n\n", "first line"),
        (b"PAR1 and no more", "Parquet"),
        (b"\x00\x01\x02\n", "first line"),
        (b"name,label\nx,y\n", "a column path, once, found the columns name, label"),
        (b"path,path\nx,y\n", "twice"),
        (b"path,label\nx\n", "Expected 2 columns, got 1"),
        (b"path,label\nx,y\n\xe4,z\n", "line 3.*UTF-8"),
        (b"p\xe4th\nx\n", "line 1.*UTF-8"),
        ("path\nx\n".encode("utf-16"), "UTF-8"),
        (b"x" * 5000, "first line of 4001 bytes"),
        (b"path,label\n" + b"x" * 9000 + b",y\n", "block"),
    ],
    ids=range(12),
)
def test_what_is_no_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, complaint: str
) -> None:
    """Each with the file, and where it is told, the line; no line is read without a bound."""
    monkeypatch.setattr(tables, "MOST_LINE_BYTES", 4000)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 4000)
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(BadTable, match=rf"(?s)t\.csv.*({complaint})"):
        texts(tmp_path / "t.csv", "path")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_in_its_usual_forms(tmp_path: Path, mark: str) -> None:
    """Numbers stay text, quotes are taken off, an empty text is nothing; a BOM is no letter."""
    lines = [("path", "label"), ("007", "NA"), ('"a b"', ""), ("é", "null")]
    text = "\r\n".join(mark.join(line) for line in lines)
    (tmp_path / "t.csv").write_text(text, "utf-8-sig")
    expected = [("007", "NA"), ("a b", None), ("é", "null")]
    assert expected == texts(tmp_path / "t.csv", "path", "label")


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    """As Spark writes it: parts in the order of their names, nothing hidden."""
    for name, value in (("part-1", 2), ("part-0", 1), ("_x", 3), (".y", 4)):
        pq.write_table(pa.table({"path": [value]}), tmp_path / f"{name}.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert [("1",), ("2",)] == texts(tmp_path, "path")


@pytest.mark.parametrize(
    ("aside", "kept"),
    [
        ("_temporary/0/task/part-0", "label=a/part-0"),
        ("_delta_log/1.checkpoint", "_day=1/part-0"),
        (".spark-staging/part-0", "a_b/part-0"),
    ],
)
def test_what_a_writer_keeps_aside_is_no_part(tmp_path: Path, aside: str, kept: str) -> None:
    """An unfinished task of Spark has rows that the table has not; partitions are parts."""
    for name, value in ((aside, "lost"), (kept, "kept")):
        (tmp_path / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"path": [value]}), tmp_path / f"{name}.parquet")
    assert [("kept",)] == texts(tmp_path, "path")


@pytest.mark.parametrize(
    ("head", "column"),
    [
        ("path, label", "label"),
        (' path ,"label"', "label"),
        ('path,"label, old"', "label, old"),
        ('path, "label; old"', "label; old"),
        ('path,"label ""x"""', 'label "x"'),
        ('"path; old";label', "label"),
    ],
)
def test_a_header_with_spaces_or_quotes(tmp_path: Path, head: str, column: str) -> None:
    """The names are those that a person reads; a delimiter in quotes is a part of a name."""
    mark = ";" if head.endswith(";label") else ","
    (tmp_path / "t.csv").write_text(f"{head}\nx{mark}y\n")
    assert [("y",)] == texts(tmp_path / "t.csv", column)


def test_a_table_without_rows(tmp_path: Path) -> None:
    """A header alone is a table."""
    (tmp_path / "t.csv").write_text("path,label\n")
    assert [] == texts(tmp_path / "t.csv", "path")


def test_a_time_beyond_64_bits_is_named(tmp_path: Path) -> None:
    """The year 9999 stands for no end in many tables; nanoseconds do not reach it."""
    times = pa.array([0, 253_402_300_799 * 10**6], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"modified_ns": times}), tmp_path / "t.parquet")
    chunk = next(open_table(locate(tmp_path / "t.parquet")).read(["modified_ns"]))
    with pytest.raises(BadTable, match=r"row 2, column modified_ns.*9999"):
        chunk.whole("modified_ns")


def test_a_part_with_other_columns_is_named(tmp_path: Path) -> None:
    """Each part is looked at, not only the first."""
    pq.write_table(pa.table({"path": ["a"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"other": ["a"]}), tmp_path / "1.parquet")
    with pytest.raises(BadTable, match=r"1\.parquet"):
        texts(tmp_path, "path")


def test_as_many_rows_at_a_time_as_asked_for(tmp_path: Path) -> None:
    """A reader of large rows asks for few; the first row of each chunk has its number."""
    pq.write_table(pa.table({"path": ["a", "b", "c"]}), tmp_path / "t.parquet")
    chunks = open_table(locate(tmp_path / "t.parquet")).read(["path"], 2)
    assert [(1, 2), (3, 1)] == [(chunk.first, chunk.batch.num_rows) for chunk in chunks]


def test_pages_that_rotted(tmp_path: Path) -> None:
    """Arrow finds no number for the error; the file is named all the same."""
    pq.write_table(pa.table({"path": ["a" * 1000]}), tmp_path / "t.parquet", compression="none")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    with pytest.raises(BadTable, match=r"t\.parquet"):
        texts(tmp_path / "t.parquet", "path")


def test_a_folder_without_tables(tmp_path: Path) -> None:
    """It is told what was looked for."""
    (tmp_path / "x.csv").touch()
    with pytest.raises(BadTable, match="Parquet files in the folder"):
        open_table(locate(tmp_path))


@pytest.mark.parametrize(
    ("kind", "value"), [("whole", "4.5"), ("whole", "-1"), ("whole", "x"), ("number", "inf")]
)
def test_a_number_that_is_none(tmp_path: Path, kind: str, value: str) -> None:
    """The row, the column and the value are named."""
    (tmp_path / "t.csv").write_text(f"size\n1\n\n{value}\n")
    chunk = next(open_table(locate(tmp_path / "t.csv")).read(["size"]))
    with pytest.raises(BadTable, match=f"row 2, column size: expected .* number.*{value}"):
        getattr(chunk, kind)("size")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["a", None, ""]), ["a", None, None]),
        (pa.array(["a", None], pa.large_string()), ["a", None]),
        (pa.array(["a", None], pa.string_view()), ["a", None]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array([7, None]), ["7", None]),
        (pa.nulls(2), [None, None]),
    ],
    ids=range(6),
)
def test_text_in_its_many_types(tmp_path: Path, column: pa.Array, expected: list[str]) -> None:
    """As pandas, Polars and Spark write it."""
    try:
        pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} cannot write {column.type}")
    assert [(each,) for each in expected] == texts(tmp_path / "t.parquet", "x")


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_is_counted_in_nanoseconds(tmp_path: Path, unit: str) -> None:
    """Whatever it is stored in."""
    factor = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1769861100 * factor], pa.timestamp(unit, "UTC"))
    pq.write_table(pa.table({"modified_ns": times}), tmp_path / "t.parquet")
    chunk = next(open_table(locate(tmp_path / "t.parquet")).read(["modified_ns"]))
    assert [1769861100 * 10**9] == chunk.whole("modified_ns").to_pylist()


def test_a_column_that_is_no_text(tmp_path: Path) -> None:
    """Its type is told: a fraction is no key."""
    pq.write_table(pa.table({"path": [0.5]}), tmp_path / "t.parquet")
    with pytest.raises(BadTable, match="text, not double"):
        texts(tmp_path / "t.parquet", "path")
