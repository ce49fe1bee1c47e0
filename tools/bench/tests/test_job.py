from pathlib import Path

import numpy as np
import pytest
import soundfile
from audioloom_bench import job, job_lanes
from audioloom_bench.measure import Lane


def lanes(ours: float) -> list[Lane]:
    """Figures of a run: naive twice as fast on two cores, ours *ours* times naive."""
    return [
        Lane(name, job.input_name(cores), cores * speed, "recordings / s", speed, speed / 10)
        for cores in (1, 2)
        for name, speed in (("naive", 1.0), (job.OURS, ours), ("floor", 10.0))
    ]


def test_less_than_asked_is_a_failure_that_says_what_was_found() -> None:
    """On two cores; on one it is only shown."""
    told = job.shortfall(lanes(2.9))

    assert "2,000 telephone prompts, 2 cores: 2.90 times the naive job, expected at least 3" == told
    assert job.shortfall(lanes(3.0)) is None


def test_efficiency_is_the_share_of_twice_one_core() -> None:
    """Half of it where a second core makes nothing faster."""
    slow = [Lane("naive", job.input_name(n), 10.0, "recordings / s", 1, 1) for n in (1, 2)]
    fast = [Lane("floor", job.input_name(n), 10.0 * n, "recordings / s", 1, 1) for n in (1, 2)]

    naive, floor = job.efficiencies([*slow, *fast])

    assert (50.0, "%", 1.0, 0.5) == (naive.value, naive.unit, naive.vs_naive, naive.vs_floor)
    assert 100.0 == floor.value


# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
@pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")
@pytest.mark.parametrize(
    "lane",
    [
        pytest.param(job_lanes.naive, marks=pytest.mark.slow),
        pytest.param(job_lanes.ours, marks=pytest.mark.slow),
        job_lanes.floor,
    ],
)
def test_every_lane_finds_the_window_of_every_recording(lane: job.Job, tmp_path: Path) -> None:
    """A lane that lost some on the way would look fast: it says so instead."""
    source = tmp_path / "recordings"
    for name in ("fr/a.wav", "fr/b.wav", "ru/a.wav"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(0).uniform(-0.5, 0.5, 8000)
        soundfile.write(source / name, noise, 8000, subtype="PCM_16")
    out = tmp_path / "out"
    out.mkdir()

    assert 0 < lane(source, out, 1)


def test_lost_recordings_are_an_error(tmp_path: Path) -> None:
    """One may be empty; not two."""
    for number in range(3):
        (tmp_path / f"{number}.wav").touch()
    job_lanes.expect_all(tmp_path, 2)

    with pytest.raises(ValueError, match="expected a window of each of 3 recordings, found 1"):
        job_lanes.expect_all(tmp_path, 1)
