from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from audioloom_audio import ExtractionSettings, Waveform
from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.extraction.partition import (
    FILE_BYTES,
    MOST_LARGEST,
    Unit,
    UnitBounds,
    commit_units,
    default_bounds,
    parse_units,
    partition,
    unit_id,
)
from audioloom_featurizer.inventory.schema import batch_of
from audioloom_manifest.parquet import INVENTORY
from audioloom_storage import locate
from hypothesis import given
from hypothesis import strategies as st

SOURCE = locate("/source")
WINDOW = 40 * 313 * 4


def rows_of(sizes: list[int]) -> pa.RecordBatch:
    """Rows of an inventory of files."""
    paths = [f"{number:04}.wav" for number in range(len(sizes))]
    return batch_of(INVENTORY, path=paths, size=sizes)


def members_of(container: str, offset: int | None) -> pa.RecordBatch:
    """Rows of an inventory of five members."""
    paths = [f"{container}/{name}" for name in "abcde"]
    return batch_of(INVENTORY, path=paths, member=[*"abcde"], offset=[offset] * 5, size=[1] * 5)


def cut(*batches: pa.RecordBatch, most_bytes: int, most_recordings: int) -> list[Unit]:
    """The units of an inventory that is read in these batches."""
    bounds = {"most_bytes": most_bytes, "most_recordings": most_recordings}
    return list(partition(batches, SOURCE, **bounds))


@given(st.lists(st.integers(0, 50)), st.integers(1, 100), st.integers(1, 10), st.integers(1, 9))
def test_units_cover_every_row_once_within_bounds(
    sizes: list[int], most_bytes: int, most_recordings: int, rows_a_batch: int
) -> None:
    """Units follow each other without gap, and pass a bound only with a single row.

    No unit could take the next row, and no unit depends on how the inventory is read.
    """
    bounds = {"most_bytes": most_bytes, "most_recordings": most_recordings}
    rows = rows_of(sizes)
    units = cut(rows, **bounds)
    parts = [rows.slice(at, rows_a_batch) for at in range(0, len(rows), rows_a_batch)]
    assert units == cut(*parts, **bounds)
    at = 0
    for unit in units:
        mine = rows.slice(at, unit.recordings)
        assert (at, sum(sizes[at : at + unit.recordings])) == (unit.first, unit.bytes)
        assert unit_id(mine) == unit.id
        assert 1 <= unit.recordings <= most_recordings
        assert unit.bytes <= most_bytes or unit.recordings == 1
        at += unit.recordings
        more = unit.bytes + sizes[at] if at < len(sizes) else most_bytes + 1
        assert unit.recordings == most_recordings or more > most_bytes
    assert len(rows) == at


@given(st.lists(st.integers(0, 5), min_size=1))
def test_the_largest_of_a_unit_come_largest_first(sizes: list[int]) -> None:
    """Those of equal size in the order of the inventory; at most `MOST_LARGEST`."""
    (unit,) = cut(rows_of(sizes), most_bytes=1 << 30, most_recordings=1000)
    numbers = sorted(range(len(sizes)), key=lambda number: -sizes[number])[:MOST_LARGEST]
    assert tuple(SOURCE / f"{number:04}.wav" for number in numbers) == unit.largest


@pytest.mark.parametrize(
    ("container", "offset", "units"),
    [("a.tar", 512, [2, 2, 1]), ("a.zip", None, [2, 2, 1]), ("a.tar.gz", None, [5])],
)
def test_a_container_that_is_read_in_sequence_is_one_unit(
    container: str, offset: int | None, units: list[int]
) -> None:
    """It would be read from its beginning in each of several; with what is beside it as usual."""
    inside, around = members_of(container, offset), rows_of([1, 1])
    bounds = {"most_bytes": 9, "most_recordings": 2}
    assert units == [unit.recordings for unit in cut(inside, **bounds)]
    assert units == [unit.recordings for unit in cut(inside.slice(0, 3), inside.slice(3), **bounds)]
    mixed = cut(around.slice(0, 1), inside, around.slice(1), **bounds)
    found = [unit.recordings for unit in mixed]
    assert [6, 1] == found if len(units) == 1 else [2, 2, 2, 1] == found


@pytest.mark.parametrize("column", INVENTORY.names)
def test_another_row_is_another_unit(column: str) -> None:
    """An id depends on everything that a row says, and on null beside nothing at all."""
    values: dict[str, list[Any]] = {
        field.name: ["ab", "c"] if pa.types.is_string(field.type) else [1, 2] for field in INVENTORY
    }
    others = {str: ["a", "bc"], int: [1, 3]}[type(values[column][0])]
    rows = [
        batch_of(INVENTORY, **values | {column: changed})
        for changed in (values[column], others, [values[column][0], None])
    ]
    if pa.types.is_string(INVENTORY.field(column).type):
        rows.append(batch_of(INVENTORY, **values | {column: [values[column][0], ""]}))
    assert len(rows) == len({unit_id(each) for each in rows})


def test_an_id_is_that_of_the_values() -> None:
    """However they lie in memory; another release would do all units again if it had others."""
    rows = rows_of([1, 2, 3, 4])
    parts = pa.Table.from_batches([rows.slice(1, 1), rows.slice(2, 2)])
    assert unit_id(rows.slice(1)) == unit_id(parts)
    assert "c7fefd4fa4579644" == unit_id(rows)


def test_a_plan_that_stands_must_be_the_same(tmp_path: Any) -> None:
    """Equal units are taken as they lie there; others are refused, damaged ones too."""
    folder = locate(tmp_path / "run")
    units = cut(rows_of([1, 2, 3]), most_bytes=9, most_recordings=1)
    assert commit_units(folder, units) == commit_units(folder, units)
    with pytest.raises(BadInventory, match=r"units\.parquet"):
        commit_units(folder, units[:2])
    with pytest.raises(BadInventory, match="Parquet"):
        parse_units(b"PAR1 of no kind", "here")


@pytest.mark.parametrize(
    ("recordings", "each", "windows", "units", "file_bytes"),
    [
        (100, 300_000, "first", 5, 20 * WINDOW),
        (640, 300_000, "first", 32, 20 * WINDOW),
        (32_000, 200_000, "first", 32, 1000 * WINDOW),
        (10**7, 10 * 10**6, "first", 2000, 5000 * WINDOW),  # 100 TB: 250 MB a file
        (10**9, 10 * 10**6, "first", 93_284, FILE_BYTES),
        (10**7, 10 * 10**6, "all", 29_155, FILE_BYTES),  # of 16 kHz
    ],
)
def test_files_of_a_large_set_are_large(
    recordings: int, each: int, windows: str, units: int, file_bytes: int
) -> None:
    """Their number decides what the sharder costs; a small set is spread over the cores."""
    settings = ExtractionSettings(windows=windows)  # type: ignore[arg-type]
    bounds = default_bounds(settings, recordings, recordings * each)
    in_unit = min(bounds.recordings, bounds.bytes // each)
    seconds = each / 2 / settings.sample_rate
    made = in_unit * (1 if windows == "first" else max(1, seconds / 10)) * WINDOW
    assert pytest.approx(units, rel=0.02) == math.ceil(recordings / in_unit)
    assert pytest.approx(file_bytes, rel=0.05) == made


def test_other_features_have_other_bounds() -> None:
    """By the bytes of a window: of both channels, in the type of the values."""
    wide = ExtractionSettings(feature=Waveform(), channels="split", windows="all")
    found = default_bounds(wide, 10**7, 10**14)
    assert UnitBounds(bytes=419 * 640_000, recordings=419) == found
    half = default_bounds(ExtractionSettings(feature=Waveform(), dtype="float16"), 10**9, 10**14)
    assert FILE_BYTES // (160_000 * 2) == half.recordings


@given(
    st.integers(0, 10**11),
    st.integers(0, 10**17),
    st.sampled_from(["first", "all"]),
    st.floats(0.1, 3600),
)
def test_every_set_has_bounds(recordings: int, size: int, windows: str, seconds: float) -> None:
    """A unit takes at least one recording, and no more than fill a file."""
    settings = ExtractionSettings(windows=windows, window_seconds=seconds)  # type: ignore[arg-type]
    bounds = default_bounds(settings, recordings, size)
    window = math.prod(settings.shape) * 4
    assert bounds.bytes >= 1
    assert 1 <= bounds.recordings <= max(1, FILE_BYTES // window)
