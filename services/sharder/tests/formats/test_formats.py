"""Shards in every format and compression: the same records, read by readers that are not ours."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import fastavro
import numpy as np
import pyarrow.dataset
import pytest
from audioloom_manifest.kinds import SHARD_COMPRESSIONS, ShardsManifest
from audioloom_manifest.reader import Opened
from audioloom_sharder.steps import merge
from sharder_features import Window, feature_of, make_features, values_of
from sharder_runs import committed, contents

ROWS = [
    Window(f"é{i}.wav", group=f"g{i % 30}", label="abc"[i % 3], target=i / 8, window=i)
    for i in range(120)
]
WORDS = ("--lanes", "2", "--split", "train=0.7,val=0.3")
EVERY = [(name, one) for name, some in SHARD_COMPRESSIONS.items() for one in some]
SOME = [
    pytest.param(name, one, marks=() if one in ("none", "gzip") else pytest.mark.slow)
    for name, one in EVERY
]
ROWS_FORMATS = [(name, one) for name, one in EVERY if name != "tfrecord"]


def packed_as(name: str, compression: str) -> tuple[str, ...]:
    return ("--format", name, "--compression", compression)


def shards_of(opened: Opened[ShardsManifest]) -> list[Path]:
    """By split and number."""
    entries = sorted(opened.files("shard"), key=lambda one: (str(one.split), one.shard or 0))
    return [Path(opened.folder.path, one.path) for one in entries]


@pytest.mark.parametrize(
    ("name", "compression", "known"),
    [
        ("tfrecord", "zstd", "none, gzip or zlib"),
        ("parquet", "zlib", "none, gzip or zstd"),
        ("avro", "gzip", "none or deflate"),
        ("orc", "deflate", "none, zlib or zstd"),
    ],
)
def test_a_compression_of_another_format_is_refused(
    sharder: Callable, tmp_path: Path, name: str, compression: str, known: str
) -> None:
    """Before anything is read, with those that there are."""
    ran = sharder("plan", tmp_path / "nothing", *packed_as(name, compression))
    assert 2 == ran.code
    assert f"--format {name} has no --compression {compression}: try {known}" in ran.err


@pytest.mark.parametrize(("name", "compression"), SOME)
def test_the_same_records_in_the_same_order(
    sharder: Callable,
    tmp_path: Path,
    name: str,
    compression: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shard by shard as in TFRecord; it verifies, and another layout gives the same bytes."""
    one = make_features(tmp_path / "one", [ROWS])
    plain = committed(sharder("run", one.folder, *WORDS).out)
    words = (*WORDS, *packed_as(name, compression))
    opened = committed(sharder("run", one.folder, *words, "--name", "packed").out)
    sides = [
        sharder("inspect", each.folder, "--records", "99", "--json") for each in (plain, opened)
    ]
    assert sides[0].data["records"] == sides[1].data["records"]
    sizes = [[one.records for one in each.files("shard")] for each in (plain, opened)]
    assert sorted(sizes[0]) == sorted(sizes[1])  # type: ignore[type-var]
    assert 0 == sharder("verify", opened.folder).code
    assert {"." + name} == {path.suffix for path in shards_of(opened)}
    assert (name == "tfrecord") == bool(opened.files("index"))
    monkeypatch.setattr(merge, "WINDOW_BYTES", 1500)
    other = make_features(tmp_path / "other", [ROWS[77:], ROWS[:77]], row_group=9)
    again = committed(sharder("run", other.folder, *words, "--name", "packed").out)
    assert contents(Path(opened.folder.path)) == contents(Path(again.folder.path))


@pytest.mark.parametrize(
    ("name", "compression", "dtype"),
    [(*each, "float16" if each[1] == "none" else "float32") for each in ROWS_FORMATS],
)
def test_their_own_readers_read_them(
    sharder: Callable, tmp_path: Path, name: str, compression: str, dtype: str
) -> None:
    """Arrow's datasets and fastavro find every feature by its name, half precision widened."""
    feature = feature_of(dtype=dtype)
    features = make_features(tmp_path, [ROWS], feature=feature)
    words = ("--target", "number", "--split", "train=1", "--lanes", "1")
    ran = sharder("run", features.folder, *words, *packed_as(name, compression))
    opened = committed(ran.out)
    known = {row.path: row for row in ROWS}
    found = list(rows_in(name, shards_of(opened)))
    assert sorted(known) == sorted(row["path"] for row in found)
    names = ("channel", "group", "label", "label_id", "mfcc", "path", "target", "valid_frames")
    for one in found:
        assert (*names, "window") == tuple(one)
        row = known[one["path"]]
        values = np.array(one["mfcc"], dtype="<f4").reshape(feature.shape)
        assert np.array_equal(values_of(row, feature).astype("<f4"), values)
        assert (row.label, row.group, row.target) == (one["label"], one["group"], one["target"])
        told = (one["label_id"], one["channel"], one["window"], one["valid_frames"])
        assert ("abc".index(row.label or ""), -1, row.window, 3) == told
    assert 0 == sharder("verify", opened.folder).code


def rows_in(name: str, paths: list[Path]) -> Iterator[dict]:
    if name == "avro":
        for path in paths:
            yield from fastavro.reader(io.BytesIO(path.read_bytes()))
    else:
        yield from pyarrow.dataset.dataset(paths, format=name).to_table().to_pylist()


@pytest.mark.parametrize("name", ["tfrecord", "parquet", "avro", "orc"])
def test_any_feature_lies_under_its_own_name(sharder: Callable, tmp_path: Path, name: str) -> None:
    """In the byte order of all names; the run verifies, and its records are shown."""
    feature = feature_of(name="a_feature")
    features = make_features(tmp_path, [ROWS], feature=feature)
    opened = committed(sharder("run", features.folder, *WORDS, *packed_as(name, "none")).out)
    assert "a_feature" == opened.manifest.stats.feature.name
    if name != "tfrecord":
        found = next(rows_in(name, shards_of(opened)))
        assert ["a_feature", "channel", "group"] == list(found)[:3]
    assert 0 == sharder("verify", opened.folder).code
    assert 0 == sharder("inspect", opened.folder, "--records", "1").code


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
def test_spark_reads_columns(sharder: Callable, tmp_path: Path) -> None:
    """Its readers of Parquet and ORC share no code with the writers: every row, every column."""
    from audioloom_spark.session import spark_session
    from audioloom_spark.settings import SparkSettings

    features = make_features(tmp_path, [ROWS])
    runs = [
        committed(sharder("run", features.folder, *WORDS, *packed_as(name, "zstd")).out)
        for name in ("parquet", "orc")
    ]
    known = {row.path: row for row in ROWS}
    with spark_session("test", SparkSettings(master="local[1]")) as spark:
        for opened in runs:
            paths = [str(path) for path in shards_of(opened)]
            name = opened.manifest.recipe.format
            found = spark.read.format(name).load(paths).collect()
            assert sorted(known) == sorted(one.path for one in found)
            for one in found:
                row = known[one.path]
                expected = values_of(row, feature_of()).ravel().tolist()
                assert expected == one.mfcc
                assert (row.label, row.group) == (one.label, one.group)
                assert (-1, row.window, 3) == (one.channel, one.window, one.valid_frames)


@pytest.mark.parametrize("name", ["parquet", "avro", "orc"])
def test_a_damaged_shard_of_rows_is_named(sharder: Callable, tmp_path: Path, name: str) -> None:
    """Changed, cut or gone: by its path, and no library is given what rotted."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, *WORDS, "--format", name).out)
    changed, cut, gone = shards_of(opened)[:3]
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 1
    changed.write_bytes(data)
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    ran = sharder("verify", opened.folder)
    assert 65 == ran.code
    for path, text in ((changed, "SHA-256"), (cut, "bytes"), (gone, "a file that the manifest")):
        assert f"{path}: expected {text}" in ran.out or f"{path}: expected" in ran.out
        assert text in ran.out
