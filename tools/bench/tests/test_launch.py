"""What the benchmark of the launcher makes of its figures; the installed programs are not here."""

import math
import subprocess
import sys
import time

import pytest
from audioloom_bench.launch import VARIABLE, bench, shortfall
from audioloom_bench.launching.gang import AFTER_LAST, started_at
from audioloom_bench.launching.overhead import OVERHEAD
from audioloom_bench.measure import Lane


def test_without_the_installed_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to start it."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(SystemExit, match="bench -- launch"):
        bench(1)


def test_what_takes_too_long_is_told() -> None:
    """Five seconds for the launcher, ten for a gang."""
    limits = {OVERHEAD: 5.0, AFTER_LAST: 10.0}
    at_most = [
        Lane("audioloom", name, limit, "s", math.nan, math.nan) for name, limit in limits.items()
    ]
    more = [
        Lane("audioloom", each.input, each.value + 1, "s", math.nan, math.nan) for each in at_most
    ]
    assert shortfall(at_most) is None
    told = shortfall(more)
    assert told is not None
    assert ["6.0 s, expected at most 5 s", "11.0 s, expected at most 10 s"] == [
        line.rpartition(": ")[2] for line in told.splitlines()
    ]


def test_when_a_process_was_started() -> None:
    """By the clock on the wall, to the kernel's hundredths."""
    before = time.time()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = started_at(process.pid)
        process.communicate(b"\n")
    assert before - 1 < found < time.time() + 1
