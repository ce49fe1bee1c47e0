from __future__ import annotations

import sys

import pytest
from audioloom_bench import __main__ as program
from audioloom_bench import storage
from audioloom_bench.measure import Lane

IN_ORDER = "512 MiB in order, 1 MiB at a time"


def lane(share: float, lane: str = storage.OURS, name: str = IN_ORDER) -> Lane:
    return Lane(lane, name, 100.0, "MB / s", 1.0, share)


@pytest.mark.parametrize(
    "lanes",
    [
        [lane(0.8), lane(1.1)],
        [lane(0.9), lane(0.3, storage.WEBHDFS), lane(0.5, "naive")],
    ],
)
def test_what_is_fast_enough(lanes: list[Lane]) -> None:
    """Other lanes are shown, and no failure."""
    assert storage.shortfall(lanes) is None


@pytest.mark.parametrize("name", [IN_ORDER, "ranges of 4 KiB anywhere in a file"])
def test_reading_too_slowly_is_a_failure(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are shown all the same, and the program fails with what is too slow."""
    monkeypatch.setattr(storage, "bench", lambda rounds: [lane(0.9), lane(0.794, name=name)])
    monkeypatch.setattr(sys, "argv", ["audioloom_bench", "storage"])
    with pytest.raises(SystemExit) as caught:
        program.main()
    expected = f"too slow:\n{name}: 79% of hdfs-native's speed, expected at least 80%"
    assert expected == caught.value.code
    assert "0.79" in capsys.readouterr().out


@pytest.mark.slow
def test_every_lane_reads_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real cluster: each lane checks what it read."""
    monkeypatch.setattr(storage, "LARGE_BYTES", 16 << 20)
    monkeypatch.setattr(storage, "RANGES", {64 << 10: 5, 4 << 10: 5})
    monkeypatch.setenv("HADOOP_CONF_DIR", "")
    lanes = storage.bench(rounds=1)
    assert 5 * 4 == len(lanes)
    assert all(lane.value > 0 for lane in lanes)
