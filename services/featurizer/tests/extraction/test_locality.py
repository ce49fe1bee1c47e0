"""Which recordings speak for a unit."""

from __future__ import annotations

from pathlib import Path

from audioloom_featurizer.extraction.locality import MOST, largest_recordings
from audioloom_featurizer.extraction.partition import partition, rows_of
from audioloom_featurizer.inventory.parquet import inventory_location, read_batches
from audioloom_manifest import read_manifest
from audioloom_storage import locate
from featurizer_work import scan, write_wav


def test_the_largest_of_each_unit_largest_first(root: Path, tmp_path: Path) -> None:
    """At most `MOST` a unit, also when only some units are left to do, in any order."""
    source = tmp_path / "source"
    seconds = {f"no/s{number}-x.wav": 0.1 + (number * 7 % 11) / 10 for number in range(11)}
    for path, length in seconds.items():
        write_wav(source / path, length)
    opened = read_manifest(str(scan(source, root).text), "recordings")
    inventory = inventory_location(opened)
    rows = list(rows_of(read_batches(inventory)))
    units = list(partition(rows, most_bytes=1 << 30, most_recordings=5))
    assert [5, 5, 1] == [unit.recordings for unit in units]
    left = [units[2], units[0]]
    found = largest_recordings(locate(source), inventory, left)
    for unit, locations in zip(left, found, strict=True):
        paths = [row["path"] for row in rows[unit.first : unit.first + unit.recordings]]
        expected = sorted(paths, key=lambda path: -seconds[path])[:MOST]
        assert [locate(source) / path for path in expected] == locations
