from pathlib import Path

from audioloom_bench.measure import Lane
from audioloom_bench.report import as_object, as_table, write_png

LANES = [
    Lane("naive", "wav", 100.0, "audio-s / core-s", 1.0, 0.1),
    Lane("floor", "wav", 1000.0, "audio-s / core-s", 10.0, 1.0),
]


def test_object_has_the_agreed_keys() -> None:
    """The JSON object has the keys that whoever reads it relies on."""
    value = as_object("featurize", LANES)
    assert ["benchmark", "lanes", "machine"] == sorted(value)
    assert ["input", "lane", "unit", "value", "vs_floor", "vs_naive"] == sorted(value["lanes"][0])


def test_table_has_a_row_a_lane() -> None:
    """A heading and a row for each lane."""
    assert 3 == len(as_table(LANES).splitlines())


def test_picture_is_a_png(tmp_path: Path) -> None:
    """The picture is drawn without a display."""
    write_png("featurize", LANES, tmp_path / "a.png")
    assert b"\x89PNG" == (tmp_path / "a.png").read_bytes()[:4]
