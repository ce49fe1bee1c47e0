"""The sums of the coefficients in a segment."""

from pathlib import Path

import pytest
from audioloom_manifest.records.tfrecord import frame
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.statistics import SUMS_BY_SPLIT, CoefficientSums
from audioloom_sharder.steps.encode import read_sums
from audioloom_sharder.steps.job import StoredArray
from audioloom_storage import locate, open_read

SUMS = [CoefficientSums(3, (2**80, -1), (2**90, 5)), CoefficientSums()]


def stored(folder: Path, data: bytes) -> StoredArray:
    """Write a file whose last bytes are the data."""
    where = folder / "segments-00000.bin"
    where.write_bytes(b"records" + data)
    return StoredArray(locate(where), 7, len(data))


def test_sums_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The sums of each split come back, however large they are."""
    sums = stored(tmp_path, frame(SUMS_BY_SPLIT.dump_json(SUMS)))
    with open_read(sums.location) as stream:
        assert SUMS == read_sums(stream, sums)


def test_changed_sums_are_named(tmp_path: Path) -> None:
    """A digit that changed on disk does not become a mean in the manifest."""
    data = frame(SUMS_BY_SPLIT.dump_json(SUMS)).replace(b"1208", b"1209")
    sums = stored(tmp_path, data)
    with (
        open_read(sums.location) as stream,
        pytest.raises(DamagedRecord, match="checksum of the payload") as found,
    ):
        read_sums(stream, sums)
    assert str(tmp_path) in str(found.value.where)
