"""Features of tables that other programs wrote: by the command, and from DataFrames."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer import write_features
from audioloom_featurizer.commands.import_table import import_table
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.commands.retry import retry
from audioloom_featurizer.commands.trace import trace
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import (
    BadWindows,
    InvalidOption,
    NoWindows,
    Unlabelled,
)
from audioloom_featurizer.settings import (
    ImportSettings,
    InspectSettings,
    RetrySettings,
    TraceSettings,
    VerifySettings,
)
from audioloom_featurizer.tables import recipe
from audioloom_featurizer.verification import check_features
from audioloom_manifest.errors import NameTaken
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.tables import BadTable
from audioloom_stage.exit_codes import exit_code
from audioloom_stage.result import Result
from featurizer_work import features_of

KEPT = (
    "path", "channel", "window", "label", "target", "group", "valid_frames", "flags",
    "member", "start_seconds", "valid_samples", "recording_sha256", "recording_seconds",
)  # fmt: skip


def table_of(rows: int = 6, **columns: Any) -> pa.Table:
    """Windows of 2 × 3 values: two of each recording, two labels."""
    values = np.arange(rows * 6, dtype=np.float32).reshape(rows, 2, 3)
    whole = {
        "path": [f"r{row // 2}.wav" for row in range(rows)],
        "window": [row % 2 for row in range(rows)],
        "label": [("yes", "no")[row // 2 % 2] for row in range(rows)],
        "group": [f"s{row // 2}" for row in range(rows)],
        "values": values.tolist(),
        **columns,
    }
    return pa.table({name: value for name, value in whole.items() if value is not None})


@pytest.fixture
def bring(tmp_path: Path, root: Path) -> Callable[..., Result]:
    """Write a table, or several as a folder, and import it."""

    def call(*tables: pa.Table, **more: object) -> Result:
        where = tmp_path / "table"
        where.mkdir(exist_ok=True)
        for each in where.iterdir():
            each.unlink()
        for number, table in enumerate(tables or [table_of()]):
            pq.write_table(table, where / f"{number}.parquet")
        return import_table(ImportSettings(table=str(where), root=str(root), **more))

    return call


def rows_of(place: object, feature: str = "features") -> list[tuple]:
    """What the sharder reads of features, in its order of recordings."""
    opened = place if isinstance(place, Opened) else read_manifest(str(place), "features")
    files = [Path(opened.folder.path, entry.path) for entry in opened.files("features")]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    found = [tuple(row[name] for name in (*KEPT, feature)) for row in rows]
    return sorted(found, key=lambda row: (row[0], row[2], row[1]))


def uneven(row: int, value: object) -> list:
    """The values of `table_of`, another in one row."""
    values = table_of()["values"].to_pylist()
    values[row] = value
    return values


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"values": None}, "expected a column values, found the columns path, window"),
        ({"path": None}, "expected a column path"),
        ({"values": ["x"] * 6}, "column values: expected lists of numbers.*string"),
        ({"values": [["x"]] * 6}, "lists of numbers.*string"),
        ({"values": [{"size": 1}] * 6}, "struct.*vector_to_array"),
        ({"path": [*"abcde", None]}, "row 6, column path"),
        ({"path": [*"abcde", "x\0y"]}, "row 6, column path"),
        ({"label": [0.5] * 6}, "text, not double"),
        ({"label": ["x" * 1001] * 6}, "at most 1000 characters"),
        ({"target": [1.0] * 5 + [float("nan")]}, "row 6, column target: expected a finite number"),
        ({"window": [0, 1, 0, 1, 0, -1]}, "row 6, column window: expected a whole number from 0"),
        ({"window": [0, 1, 0, 1, 0, 1.5]}, "row 6, column window: expected a whole number"),
        ({"channel": [0, 0, 0, 0, 0, 128]}, "row 6, column channel.*from -1 to 127"),
        ({"length": [3, 3, 3, 3, 3, 4]}, "row 6, column length: expected at most 3, the frames"),
        ({"flags": [1] * 6}, "lists of text"),
        ({"recording_sha256": ["x"] * 6}, "SHA-256"),
    ],
)
def test_a_column_that_is_missing_or_of_another_type(
    bring: Callable, root: Path, columns: dict[str, Any], complaint: str
) -> None:
    """The error names the file, the row and the column; nothing is written."""
    with pytest.raises(BadTable, match=f"(?s){complaint}"):
        bring(table_of(**columns))
    assert not root.exists()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([[1.0, 2.0, 3.0]], "1 lists"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0]], "a list of 2 values"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0, None]], "a value that is null"),
        ([[1.0, 2.0, 3.0], None], "null"),
        (None, "null"),
    ],
)
def test_values_of_another_shape(bring: Callable, root: Path, value: Any, found: str) -> None:
    """The row and its recording are named, with both shapes."""
    with pytest.raises(BadWindows) as caught:
        bring(table_of(values=uneven(3, value)))
    text = str(caught.value)
    assert "row 4, window 1 of 'r1.wav'" in text
    assert f"expected 2 × 3 values as in the first row, found {found}" in text
    assert 65 == exit_code(caught.value)
    assert not root.exists()


@pytest.mark.parametrize(
    ("values", "shape", "complaint"),
    [
        (uneven(0, None), None, "row 1.*at least one value"),
        (pa.array([[]] * 6, pa.list_(pa.float32())), None, "at least one value"),
        ([b"x" * 24] * 6, None, "expected --shape"),
        ([b"x" * 24] * 6, "2x4", "2 × 4 values as in the first row, found 24 bytes"),
        ([[1.0] * 6] * 6, "2x4", "expected 2 × 4, found 6 values"),
        (uneven(1, [[0.0] * 3] * 2), "3x2", "expected 3 × 2, found 2 × 3"),
    ],
)
def test_a_first_row_without_a_shape(
    bring: Callable, values: Any, shape: str | None, complaint: str
) -> None:
    """It decides for all, so it has to have one, the one that was asked for."""
    with pytest.raises(BadWindows, match=complaint):
        bring(table_of(values=values), shape=shape)


def test_values_that_are_not_finite(bring: Callable, root: Path) -> None:
    """They are counted, also those that the type of the values cannot hold."""
    bad = [[float("nan")] * 3, [0.0] * 3]
    values = uneven(3, bad)
    values[5] = [[1e5] * 3] * 2
    with pytest.raises(BadWindows, match=r"infinite ones in 1 of 6 windows.*window 1 of 'r1\.wav'"):
        bring(table_of(values=values))
    with pytest.raises(BadWindows, match=r"infinite ones in 2 of 6 windows.*window 1 of 'r2\.wav'"):
        bring(table_of(values=values), dtype="float16")
    assert not root.exists()


def test_windows_that_are_there_twice(bring: Callable, root: Path) -> None:
    """They are counted and named; a table of single windows is told of the column."""
    with pytest.raises(BadWindows, match=r"(?s)found 2 again, such as window 0 of 'r0\.wav'.*=COL"):
        bring(table_of(2), table_of(4))
    with pytest.raises(BadWindows, match="found 3 again"):
        bring(table_of(window=None))
    assert not root.exists()


def test_labels_of_two_types(bring: Callable) -> None:
    """One file has words, another numbers: somebody has mixed two tables."""
    numbers = table_of(path=[f"q{row}" for row in range(6)], label=[0, 1] * 3)
    with pytest.raises(BadTable, match=r"1\.parquet, column label: expected text as in .*0\.parq"):
        bring(table_of(), numbers)
    nothing = table_of(path=[f"q{row}" for row in range(6)], label=pa.nulls(6))
    assert 6 == bring(table_of(), nothing).data["unlabelled"]


def test_windows_without_label(bring: Callable) -> None:
    """They are kept, refused or dropped, as in a scan; a target is enough."""
    table = table_of(label=["yes", "", None, "no", "no", None], target=[None] * 5 + [0.5])
    assert (2, 0, 6) == counts(bring(table))
    with pytest.raises(Unlabelled, match=r"2 of 6 without, such as window 1 of 'r0\.wav', window"):
        bring(table, unlabelled="refuse")
    dropped = bring(table, unlabelled="drop")
    assert (0, 2, 4) == counts(dropped)
    assert dropped.data["name"] == bring(table.take([0, 3, 4, 5])).data["name"]
    with pytest.raises(Unlabelled, match="no window is left"):
        bring(table_of(label=None), unlabelled="drop")


def counts(result: Result) -> tuple[object, ...]:
    return tuple(result.data[name] for name in ("unlabelled", "dropped", "windows"))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\xff" * 200 + b"PAR1", b"<html>\0"])
def test_what_is_no_parquet(tmp_path: Path, root: Path, data: bytes) -> None:
    """The file is named."""
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(BadTable, match=r"t\.parquet"):
        import_table(ImportSettings(table=str(tmp_path / "t.parquet"), root=str(root)))
    assert not root.exists()


def test_bytes_that_rotted(tmp_path: Path, root: Path) -> None:
    """Wherever they are: an error of a kind that is expected, or the values are what they are."""
    pq.write_table(table_of(), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for at in range(4, len(whole), 97):
        rotten = whole[:at] + bytes(byte ^ 0xFF for byte in whole[at : at + 8]) + whole[at + 8 :]
        (tmp_path / "t.parquet").write_bytes(rotten)
        with suppress(BadTable, BadWindows, NoWindows):
            import_table(ImportSettings(table=str(tmp_path / "t.parquet"), root=str(root)))


def test_no_rows(bring: Callable) -> None:
    """An empty table is an input that is missing."""
    with pytest.raises(NoWindows, match="no rows") as caught:
        bring(table_of(0))
    assert 66 == exit_code(caught.value)


def test_a_name_for_the_feature_that_is_taken(bring: Callable) -> None:
    """A features file has a column of that name."""
    with pytest.raises(InvalidOption, match="--feature-name label"):
        bring(feature_name="label")


def test_columns_by_other_names(bring: Callable) -> None:
    """One that the table lacks is named; `key` and `length` are known."""
    table = table_of().rename_columns(["key", "window", "class", "speaker", "embedding"])
    named = {"values": "embedding", "label": "class", "group": "speaker"}
    with pytest.raises(BadTable, match="expected a column nowhere, once"):
        bring(table, columns={**named, "target": "nowhere"})
    table = table.append_column("length", pa.array([1, 2, 3, 1, 2, 3]))
    made = bring(table, columns=named)
    whole = bring(table_of(valid_frames=[1, 2, 3, 1, 2, 3]))
    assert made.data["name"] == whole.data["name"]
    assert [1, 2, 3, 1, 2, 3] == [row[6] for row in rows_of(made.text)]


def test_the_same_windows_are_committed_already(bring: Callable) -> None:
    """In any order, in any files and types of columns; other windows have another name."""
    first = bring()
    assert not first.data["already_committed"]
    table = table_of()
    flat = [np.ravel(each).tolist() for each in table["values"].to_pylist()]
    packed = pa.array([np.array(each, "<f4").tobytes() for each in flat])
    backwards = table.take([5, 1, 3, 0, 2, 4])
    at = table.schema.get_field_index("values")
    for tables, shape in (
        ([backwards.slice(0, 2), backwards.slice(2)], None),
        ([table.set_column(at, "values", pa.array(flat, pa.list_(pa.float64())))], "2x3"),
        ([table.set_column(at, "values", pa.array(flat, pa.list_(pa.float32(), 6)))], "2x3"),
        ([table.set_column(at, "values", packed)], "2x3"),
        ([table.set_column(at, "values", packed.cast(pa.binary(24)))], "2x3"),
    ):
        again = bring(*tables, shape=shape)
        assert again.data["already_committed"]
        assert first.text == again.text
    for other in (
        table_of(4),
        table_of(values=uneven(5, [[0.0] * 3] * 2)),
        table_of(label=["no"] * 6),
        table_of(group=None),
    ):
        assert first.data["name"] != bring(other).data["name"]
    bring(name="mine")
    with pytest.raises(NameTaken, match="parameters"):
        bring(table_of(4), name="mine")


def test_members_of_containers_are_recordings(bring: Callable) -> None:
    """They lie in the order of their paths: the container's, a slash and the member."""
    columns = {"member": ["y.wav", "x.wav"] * 2, "window": [1, 1, 0, 0]}
    table = table_of(4, path=["a.tar/y.wav", "a.tar/x.wav"] * 2, **columns)
    opened = read_manifest(str(bring(table).text), "features")
    assert 2 == opened.manifest.stats.recordings
    (entry,) = opened.files("features")
    members = pq.read_table(Path(opened.folder.path, entry.path))["member"].to_pylist()
    assert ["x.wav", "x.wav", "y.wav", "y.wav"] == members
    verify(VerifySettings(manifest=str(opened.location)))
    with pytest.raises(BadWindows, match=r"found 2 again, .* of 'a\.tar!.*a path of its own"):
        bring(table_of(4, path=["a.tar"] * 4, **columns))


def test_what_a_table_does_not_say(bring: Callable) -> None:
    """One window without padding; nothing is known of the recording but that it is another."""
    vectors = table_of(4, values=[[1.0, 2.0]] * 4, path=[4, 3, 2, 1], window=None, label=None)
    opened = read_manifest(str(bring(vectors, window_seconds=0.5).text), "features")
    feature = opened.manifest.recipe.feature
    assert ((2, 1), 16000) == (feature.shape, feature.sample_rate)
    assert ("import", "mix", ()) == (
        opened.manifest.recipe.engine,
        opened.manifest.recipe.channels,
        opened.manifest.inputs,
    )
    (file,) = opened.files("features")
    rows = pq.read_table(Path(opened.folder.path, file.path)).to_pylist()
    assert ["1", "2", "3", "4"] == [row["path"] for row in rows]
    for row in rows:
        assert (-1, 0, 1, 8000, []) == tuple(
            row[name] for name in ("channel", "window", "valid_frames", "valid_samples", "flags")
        )
    assert 1 == len({row["recording_sha256"] for row in rows})  # of the values, which are equal


def test_from_recordings_or_from_their_table(source: Path, root: Path, bring: Callable) -> None:
    """Features that were read into a table and imported are the same rows, for every command."""
    made = features_of(source, root, windows="all", channels="split", engine="numpy")
    files = [Path(made.folder.path, entry.path) for entry in made.files("features")]
    shape = "x".join(map(str, made.manifest.recipe.feature.shape))
    tables = [pq.read_table(file) for file in files][::-1]

    result = bring(*tables, feature_name="mfcc", shape=shape)

    opened = read_manifest(str(result.text), "features")
    assert rows_of(made, "mfcc") == rows_of(opened, "mfcc")
    schemas = [
        pq.read_schema(Path(one.folder.path, one.files("features")[0].path))
        for one in (made, opened)
    ]
    assert schemas[0] == schemas[1]
    assert made.manifest.stats.model_copy(update={"agreement": None}) == opened.manifest.stats
    verify(VerifySettings(manifest=str(opened.location)))
    lines = [
        inspect(InspectSettings(manifest=str(one.folder))).data["contents"]
        for one in (made, opened)
    ]
    assert lines[0] == lines[1]


def test_nothing_is_told_that_the_table_does_not_hold(bring: Callable) -> None:
    """A length of 0 s or a rate of 0 Hz would be taken for a fact."""
    lines = [*inspect(InspectSettings(manifest=str(bring().text))).text]
    assert "labels (2)" in lines
    assert not {"lengths", "rates", "channels"} & set(lines)


def test_other_commands_know_imported_features(bring: Callable, root: Path) -> None:
    """`retry` and a comparison with librosa need recordings; `trace` finds a group."""
    where = str(bring().text)
    with pytest.raises(InvalidOption, match="imported features have no recordings"):
        retry(RetrySettings(features=where))
    with pytest.raises(InvalidOption, match="imported features have no recordings"):
        verify(VerifySettings(manifest=where, against="librosa"))
    (found,) = trace(TraceSettings(root=str(root), group=("s1",))).data["runs"]
    assert ("features", "holds", 1, 2) == tuple(
        found[name] for name in ("kind", "state", "recordings", "windows")
    )
    assert [] == trace(TraceSettings(root=str(root), group=("s9",))).data["runs"]


def test_files_hold_whole_recordings(bring: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is full or holds one recording; `verify` finds files that overlap."""
    monkeypatch.setattr(recipe, "FILE_WINDOWS", 3)
    lengths = [1, 2, 5, 1, 1, 1, 3]
    paths = [f"r{number}" for number, length in enumerate(lengths) for _ in range(length)]
    windows = [window for length in lengths for window in range(length)]
    table = table_of(len(paths), path=paths, window=windows)
    opened = read_manifest(str(bring(table).text), "features")
    assert [3, 5, 3, 3] == [entry.records for entry in opened.files("features")]
    assert [*zip(paths, windows, strict=True)] == [(row[0], row[2]) for row in rows_of(opened)]
    assert (7, 14) == (opened.manifest.stats.recordings, opened.manifest.stats.windows)
    verify(VerifySettings(manifest=str(opened.location)))

    other = read_manifest(str(bring(table.take([0, 1, 2])).text), "features")
    (entry,) = other.files("features")
    repeated = Opened(
        opened.manifest, opened.folder, opened.sha256, (*opened.entries, opened.entries[0])
    )
    assert entry.records == 3
    assert any("more than one place" in each for each in check_features(repeated))


def test_from_the_command_line(command: Any, tmp_path: Path, root: Path) -> None:
    """One location on stdout, and the next commands beside it; bad input has its exit codes."""
    pq.write_table(table_of(), tmp_path / "t.parquet")
    columns = ("--columns", "label=group,path=path")
    done = command("import", tmp_path / "t.parquet", "--root", root, *columns)
    assert 0 == done.returncode, done.stderr
    assert Path(done.stdout.strip()).is_file()
    assert "audioloom-sharder plan" in done.stderr
    again = command("import", tmp_path / "t.parquet", "--root", root, *columns, "--json")
    data = json.loads(again.stdout)
    assert (True, 3, 6) == (data["already_committed"], data["recordings"], data["windows"])
    for words, code in (
        (("t.parquet", "--columns", "labels=group"), 2),
        (("t.parquet", "--shape", "2,3"), 2),
        (("t.parquet", "--feature-name", "Mel-40"), 2),
        (("nowhere.parquet",), 66),
    ):
        ended = command("import", *words, "--root", root)
        assert (code, "") == (ended.returncode, ended.stdout), ended.stderr


def test_a_table_of_arrow(root: Path, bring: Callable) -> None:
    """Whole, or batch by batch; what is neither is refused."""
    table = table_of()
    opened = write_features(table, root)
    assert opened.manifest.name == bring().data["name"]
    again = write_features(iter(table.to_batches(2)), root, columns={"values": "values"})
    assert opened.location == again.location
    with pytest.raises(InvalidOption, match=r"a DataFrame of Spark, .*found str"):
        write_features(["x"], root)
    with pytest.raises(BadTable, match="a column values"):
        write_features([], root)


def test_the_package_imports_nothing_heavy() -> None:
    """The function is imported when it is used."""
    program = """
import sys
import audioloom_featurizer
heavy = {"pyspark", "pyarrow", "numpy", "pydantic"} & set(sys.modules)
assert not heavy, heavy
assert callable(audioloom_featurizer.write_features)
assert "pyspark" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_a_data_frame_of_spark(source: Path, root: Path) -> None:
    """Features read by Spark, imported from it: the same rows as from the recordings."""
    from audioloom_spark.session import spark_session
    from audioloom_spark.settings import SparkSettings

    made = features_of(source, root, windows="all", engine="numpy")
    with spark_session("test", SparkSettings(master="local[1]")) as spark:
        df = spark.read.parquet(str(Path(made.folder.path, "features"))).repartition(2)
        given = {"feature_name": "mfcc", "shape": made.manifest.recipe.feature.shape}
        opened = write_features(df, root, **given)
        assert opened.location == write_features(df.orderBy("label"), root, **given).location
        with pytest.raises(BadTable, match="the DataFrame: expected a column label2"):
            write_features(df, root, columns={"label": "label2"}, **given)
        with pytest.raises(BadTable, match="a column values"):
            write_features(df.drop("mfcc"), root)
        torn = df.drop("label").selectExpr("*", "cast(raise_error('torn') AS string) AS label")
        with pytest.raises(BadWindows, match=r"(?s)Spark could not write.*torn"):
            write_features(torn, root, **given)
    assert rows_of(made, "mfcc") == rows_of(opened, "mfcc")
    assert [] == list(root.glob("scratch/*"))
