import re
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.run_status import WorkerStatus
from audioloom_yarn_launcher.monitoring.tables import size_text, worker_table
from hypothesis import given
from hypothesis import strategies as st

GIB = 1 << 30
LOG = locate("hdfs://nn/a/long/way/to/runs/x/logs/0/1.*.log")
STEP = {"step": 8400, "steps": 20000, "loss": 0.25, "steps_per_second": 8.126, "input_wait": 0.021}
USAGE = {
    "memory_bytes": 12 * GIB,
    "peak_memory_bytes": 15 * GIB,
    "memory_limit_bytes": 16 * GIB,
    "gpus": [{"busy": 0.93, "memory_bytes": 40 * GIB}, "nonsense"],
}


def worker(rank: int = 0, **more: Any) -> WorkerStatus:
    values = {"host": "n1", "pid": None, "attempts": 1, "exit": "", "progress": {}, "usage": {}}
    return WorkerStatus(rank, "running", log=LOG, **(values | more))


def cells(lines: list[str]) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in lines]


def test_no_workers_are_no_table() -> None:
    """Not even a heading."""
    assert [] == worker_table([], over=True)


def test_a_worker_is_a_line() -> None:
    """What it takes of what it may take, while it runs; of the log, its place in the run folder."""
    heading, line = cells(worker_table([worker(progress=STEP, usage=USAGE)], over=False))
    found = dict(zip(heading, line, strict=True))
    assert {
        "rank": "0",
        "state": "running",
        "host": "n1",
        "attempts": "1",
        "step": "8400/20000",
        "loss": "0.25",
        "steps/s": "8.13",
        "wait": "2%",
        "memory": "12.0 GiB of 16.0 GiB",
        "gpu": "93% 40.0 GiB",
        "log": "logs/0/1.*.log",
    } == found


def test_of_a_run_that_is_over_the_most_is_shown() -> None:
    """Which is what one wants to know for the next one."""
    text = "\n".join(worker_table([worker(usage=USAGE, exit="0")], over=True))
    assert "15.0 GiB of 16.0 GiB" in text
    assert "gpu" not in text


def test_what_nobody_knows_is_left_out() -> None:
    """But for what every run has."""
    (heading, _) = cells(worker_table([worker()], over=False))
    assert ["rank", "state", "host", "attempts", "step", "loss", "log"] == heading


@given(st.integers(60, 200), st.integers(1, 8))
def test_a_table_fits_where_it_is_read(columns: int, hosts: int) -> None:
    """What is left out first is what is found elsewhere too."""
    workers = [
        worker(rank, host="n1.cluster", pid=12345, progress=STEP, usage=USAGE)
        for rank in range(hosts)
    ]
    lines = worker_table(workers, columns, over=False)
    assert 1 + hosts == len(lines)
    assert all(word in lines[0] for word in ("state", "step", "loss", "memory"))
    assert columns < 72 or all(len(line) <= columns for line in lines)


def test_what_a_program_notes_cannot_break_the_table() -> None:
    """It comes from outside."""
    bad = {"step": "\x1b[2J", "steps": None, "loss": True, "steps_per_second": "x"}
    text = "\n".join(
        worker_table([worker(progress=bad, usage={"memory_bytes": "x", "gpus": 3})], over=False)
    )
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (200 << 20, "200 MiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes_are_read_by_people(size: int, text: str) -> None:
    """In powers of 1024."""
    assert text == size_text(size)
