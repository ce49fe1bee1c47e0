"""A part of a features run: what is counted, what is averaged, and how little is read."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_manifest import feature_reader
from audioloom_manifest.feature_reader import read_feature_sample
from audioloom_manifest.feature_sample import COLUMNS, ROWS
from audioloom_manifest.kinds import Feature
from audioloom_manifest.parquet import LEDGER, BadParquet, features_schema, features_writer
from audioloom_manifest.publication import commit
from audioloom_manifest.reader import Opened
from audioloom_storage import Location
from manifest_runs import RECIPE, STATS, attempt, plan, write

SHAPE = (2, 4)
FEATURE = Feature(name="mfcc", dtype="float32", shape=SHAPE, sample_rate=8000, parameters={})


def window(label: str | None, number: int = 0, *, path: str = "", **more: Any) -> dict[str, Any]:
    return {
        "path": path or f"{label}/{number}.wav", "channel": -1, "window": 0, "label": label,
        "group": f"g{number}", "start_seconds": 0.0, "valid_samples": 9, "valid_frames": 4,
        "flags": [], "recording_sha256": "b" * 64, "recording_bytes": 9, "recording_seconds": 2.0,
        "recording_rate": 8000, "recording_channels": 1, "recording_format": "WAV",
        "mfcc": np.zeros(SHAPE, "<f4").tobytes(),
    } | more  # fmt: skip


def values(*rows: Sequence[float]) -> bytes:
    return np.array(rows, "<f4").tobytes()


def parquet(*rows: Mapping[str, Any], feature: Feature = FEATURE, group: int = 2) -> bytes:
    """A features file, with *group* windows in a row group."""
    out = io.BytesIO()
    with features_writer(out, feature) as writer:
        writer.write_table(pa.Table.from_pylist([*rows], features_schema(feature)), group)
    return out.getvalue()


def run(
    root: Location,
    *files: bytes,
    feature: Feature = FEATURE,
    labels: Mapping[str, int] | None = None,
    ledger: bytes = b"",
) -> Opened[Any]:
    """A committed run of these features files."""
    asked = plan(root, RECIPE.model_copy(update={"feature": feature}))
    entries = [write(asked.folder, f"f/{n:02}.parquet", data) for n, data in enumerate(files)]
    if ledger:
        entries.append(write(asked.folder, "ledger.parquet", ledger, "ledger"))
    stats = STATS.model_copy(update={"labels": dict(labels or {})})
    return commit(asked, attempt(), entries, stats).opened


def test_a_file_that_is_no_parquet_is_named(root: Location) -> None:
    """With what was expected there."""
    with pytest.raises(BadParquet, match=r"00\.parquet: expected a Parquet file"):
        read_feature_sample(run(root, b"not parquet"))


def test_a_column_of_another_type_is_named(root: Location) -> None:
    """Before a value of it is read."""
    out = io.BytesIO()
    schema = features_schema(FEATURE)
    at = schema.get_field_index("label")
    other = schema.set(at, pa.field("label", pa.int64()))
    pq.write_table(pa.Table.from_pylist([window(None) | {"label": 7}], other), out)
    with pytest.raises(BadParquet, match="column label of type string, found int64"):
        read_feature_sample(run(root, out.getvalue()))


def test_a_run_without_files_has_nothing(root: Location) -> None:
    """No division by zero, no picture."""
    sample = read_feature_sample(run(root))
    assert (0, 0, 0, []) == (sample.files, sample.windows, sample.frames, sample.seconds)
    assert {} == sample.pictures == sample.recordings


def test_recordings_are_counted_once(root: Location) -> None:
    """However many windows they have, in however many row groups."""
    long = [window("a", 1, flags=["silent"], valid_frames=n) for n in (4, 4, 2)]
    sample = read_feature_sample(run(root, parquet(*long, window("a", 2), window(None, 3))))
    assert {"a": {"g1": 1, "g2": 1}, None: {"g3": 1}} == sample.recordings
    assert [2.0, 2.0, 2.0] == [*sample.seconds]
    assert {"silent": 3} == sample.flags
    assert 18 == sample.frames
    assert 5 == sample.windows


def test_few_files_are_read_and_they_are_spread(root: Location) -> None:
    """Of seven files every third, from the first on."""
    opened = run(root, *(parquet(window("a", number)) for number in range(7)), labels={"a": 7})
    sample = read_feature_sample(opened, files=3)
    assert (3, 7, 3) == (sample.files, sample.all_files, sample.windows)
    assert {"g0", "g3", "g6"} == sample.recordings["a"].keys()


def test_rows_beyond_the_limit_are_not_read(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to it they are, also where one row group has more than the share of its file."""
    monkeypatch.setattr(feature_reader, "_MOST_ROWS", 6)
    rows = [window("a", number) for number in range(9)]
    opened = run(root, parquet(*rows, group=4), parquet(*rows, group=9), labels={"a": 18})
    sample = read_feature_sample(opened)
    assert (6, 6) == (sample.windows, sample.pictures["a"].windows)


def repeated(rows: int, path: str = "a.wav") -> bytes:
    """A features file of equal windows, which take few bytes in it, in one row group."""
    zeros = pa.array(np.zeros(rows, np.int32))
    table = pa.Table.from_pylist([window("a")], features_schema(FEATURE)).take(zeros)
    paths = pa.DictionaryArray.from_arrays(zeros, [path])
    out = io.BytesIO()
    table = table.set_column(table.schema.get_field_index("path"), "path", paths)
    pq.write_table(table, out, row_group_size=rows, store_schema=False)
    return out.getvalue()


def test_texts_that_repeat_take_little_memory(root: Location) -> None:
    """A few kilobytes of a file may hold gigabytes of text, which are never there at once."""
    opened = run(root, repeated(10_000, path="p" * 20_000), labels={"a": 10_000})
    before = pa.default_memory_pool().max_memory()
    sample = read_feature_sample(opened)
    assert (10_000, 12) == (sample.windows, sample.pictures["a"].windows)
    assert pa.default_memory_pool().max_memory() <= max(before, 100 << 20)


def test_values_that_repeat_are_counted_as_they_are_read(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row group of more values than are read at once is left out, however few bytes it takes."""
    monkeypatch.setattr(feature_reader, "_MOST_GROUP_BYTES", 100_000)
    data = repeated(10_000)
    assert len(data) < 50_000
    assert 0 == read_feature_sample(run(root, data)).windows


def test_a_picture_is_the_distance_from_the_mean(root: Location) -> None:
    """Of each coefficient by itself, over all labels, without padding and values not finite."""
    high = values([1, 1, 1, float("nan")], [5, 5, 5, 5])
    low = values([-1, -1, 99, 99], [5, 5, 99, 99])
    rows = [window("high", mfcc=high), window("low", mfcc=low, valid_frames=2)]
    pictures = read_feature_sample(run(root, parquet(*rows), labels={"high": 1, "low": 1})).pictures
    mean, deviation = (3 - 2) / 5, (1 - 0.2**2) ** 0.5
    above, below = (1 - mean) / deviation, (-1 - mean) / deviation
    assert [above, above, above, None] == _rounded(pictures["high"].mean[0], above)
    assert [below, below, None, None] == _rounded(pictures["low"].mean[0], below)
    assert [0.0, 0.0, None, None] == [*pictures["low"].mean[1]]
    assert -1.0 == pytest.approx(pictures["low"].levels[0], abs=0.1)
    assert 5.0 == pictures["high"].levels[2]


def _rounded(found: Sequence[float | None], value: float) -> list[float | None]:
    return [value if each == pytest.approx(value, abs=1e-6) else each for each in found]


def test_samples_are_drawn_by_their_size(root: Location) -> None:
    """Loud and silent samples of one coefficient differ, though both have mean 0."""
    feature = FEATURE.model_copy(update={"shape": (1, 4)})
    rows = [
        window("loud", mfcc=values([1, -1, 1, -1])),
        window("soft", mfcc=values([0, 0, 0, 0])),
    ]
    opened = run(
        root, parquet(*rows, feature=feature), feature=feature, labels={"loud": 1, "soft": 1}
    )
    pictures = read_feature_sample(opened).pictures
    assert [[1.0] * 4] == [*pictures["loud"].mean]
    assert [[-1.0] * 4] == [*pictures["soft"].mean]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_large_windows_are_averaged(root: Location, dtype: Any) -> None:
    """To few rows and columns, first coefficient first."""
    feature = Feature(name="mfcc", dtype=dtype, shape=(90, 101), sample_rate=8000, parameters={})
    kind = {"float32": "<f4", "float16": "<f2"}[dtype]
    whole = np.tile(np.arange(101), (90, 1)).astype(kind).tobytes()
    opened = run(
        root,
        parquet(window("a", mfcc=whole, valid_frames=101), feature=feature),
        feature=feature,
        labels={"a": 1},
    )
    mean = read_feature_sample(opened).pictures["a"].mean
    assert (ROWS, COLUMNS) == (len(mean), len(mean[0]))
    assert sorted(mean[0], key=lambda value: value or 0.0) == [*mean[0]]


def test_the_most_frequent_labels_have_pictures(root: Location) -> None:
    """Twelve of them, from several row groups, and not from all windows of one."""
    rows = [window(f"l{13 - number % 14:02}", number) for number in range(28 * 6)]
    labels = {f"l{number:02}": 100 - number for number in range(14)}
    pictures = read_feature_sample(run(root, parquet(*rows, group=84), labels=labels)).pictures
    assert {f"l{number:02}" for number in range(12)} == pictures.keys()
    assert {12} == {each.windows for each in pictures.values()}
    assert "l00" == next(iter(pictures))


def test_without_labels_all_windows_make_one_picture(root: Location) -> None:
    """Numbers to learn, or nothing at all."""
    rows = [window(None, number) for number in range(30)]
    sample = read_feature_sample(run(root, parquet(*rows, group=15)))
    assert {None: 24} == {label: each.windows for label, each in sample.pictures.items()}


def test_each_class_of_refusals_has_examples(root: Location) -> None:
    """Three of each, however many there are."""
    rows = [
        {
            "path": f"{n}.wav", "size": 1, "modified_ns": 1, "class": ("empty", "odd")[n % 2],
            "stage": "decode", "message": f"no {n}", "retryable": False,
        }
        for n in range(9)
    ]  # fmt: skip
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, LEDGER), out)
    refusals = read_feature_sample(run(root, ledger=out.getvalue())).refusals
    assert [("1.wav", "no 1"), ("3.wav", "no 3"), ("5.wav", "no 5")] == refusals["odd"]
    assert 3 == len(refusals["empty"])
