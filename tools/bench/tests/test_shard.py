import hashlib
import io
from pathlib import Path

import pytest
from audioloom_bench import shard, shard_lanes
from audioloom_bench.jvm_path import class_path
from audioloom_bench.made_features import made_features
from audioloom_bench.measure import Lane
from audioloom_bench.shard import FLOOR, JVM, NAIVE, OURS, Taken
from audioloom_bench.shard_lanes import Asked
from audioloom_manifest.records.tfrecord import read

ROWS, SHARDS = 40, 4
TITLE = "memory, 2 cores"


def lanes(ours: float, java: float) -> list[Lane]:
    """Figures of a run: ours and the JVM path are so many times naive."""
    speeds = {NAIVE: 1.0, JVM: java, OURS: ours, FLOOR: 40.0}
    return [
        Lane(name, f"{TITLE}, {kind}", 2000 / speed, "µs CPU / record", speed, speed / 40)
        for kind in ("warm", "cold")
        for name, speed in speeds.items()
    ]


def test_slower_than_asked_is_a_failure_that_says_what_was_found() -> None:
    """Warm alone counts: against four times the naive job, and against the JVM path."""
    assert (
        f"{TITLE}, warm: 3.90 times the naive job, expected at least 4\n"
        f"{TITLE}, warm: 3.90 times the naive job, the JVM path 3.95"
    ) == shard.shortfall(lanes(3.9, 3.95))
    assert shard.shortfall(lanes(4.0, 4.0)) is None


def test_figures_are_medians_of_rounds() -> None:
    """Costs a record in microseconds; ratios are taken within each round."""
    found = {
        NAIVE: [Taken(4.0, 2.0, 2.0, 300), Taken(8.0, 4.0, 4.0, 300), Taken(12.0, 6.0, 6.0, 300)],
        FLOOR: [Taken(0.2, 0.1, 0.1, 30), Taken(0.2, 0.1, 0.1, 30), Taken(0.2, 0.1, 0.1, 30)],
        OURS: [Taken(2.0, 0.5, 0.5, 150), Taken(2.0, 1.0, 1.0, 150), Taken(2.0, 0.5, 0.5, 150)],
    }

    by_name = {(one.lane, one.input): one for one in shard.figures(found, 1000, TITLE)}

    warm = by_name[OURS, f"{TITLE}, warm"]
    assert (500.0, "µs CPU / record", 4.0, 0.2) == (
        warm.value, warm.unit, warm.vs_naive, warm.vs_floor
    )  # fmt: skip
    assert 2000.0 == by_name[OURS, f"{TITLE}, cold"].value
    assert 2.0 == by_name[OURS, f"{TITLE}, memory"].vs_naive


def test_lost_windows_are_an_error(tmp_path: Path) -> None:
    """A lane that wrote less than the values is not fast."""
    out = shard.locate(tmp_path)
    (tmp_path / "part").write_bytes(bytes(2 * 50_080))
    shard.expect_all(out, 2)

    with pytest.raises(RuntimeError, match="expected the values of 3 windows"):
        shard.expect_all(out, 3)


@pytest.mark.parametrize(
    "lane",
    [
        pytest.param("naive", marks=pytest.mark.slow),
        pytest.param("jvm_path", marks=pytest.mark.slow),
        pytest.param("shuffled", marks=pytest.mark.slow),
        pytest.param("ours", marks=pytest.mark.slow),
    ],
)
def test_every_lane_writes_every_record_once(lane: str, tmp_path: Path) -> None:
    """Whole TFRecords with sound checksums, none twice."""
    features = made_features(tmp_path, ROWS, 2)
    asked = Asked(features, str(tmp_path / "out"), 1, SHARDS, class_path(tmp_path))

    with shard_lanes.LANES[lane](asked) as job:
        job(0)

    written = [*(tmp_path / "out").rglob("*.tfrecord"), *(tmp_path / "out").rglob("part-r-*")]
    records = [one.payload for path in written for one in read(io.BytesIO(path.read_bytes()))]
    assert ROWS == len({hashlib.sha256(each).digest() for each in records}) == len(records)


def test_the_floor_copies_every_byte(tmp_path: Path) -> None:
    """The same number of bytes in as many files."""
    features = made_features(tmp_path, ROWS, 2)

    with shard_lanes.floor(Asked(features, str(tmp_path / "out"), 1, SHARDS, "")) as job:
        job(0)

    def sizes(folder: Path) -> list[int]:
        return sorted(path.stat().st_size for path in folder.iterdir())

    assert sizes(Path(features, "features")) == sizes(tmp_path / "out" / "0")
