"""The same benchmark in another checkout, for which a program stands."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest
from audioloom_bench import __main__ as program
from audioloom_bench import storage
from audioloom_bench.against import comparison, measured_by
from audioloom_bench.measure import Lane
from audioloom_bench.report import write_json

BEFORE = [
    Lane("naive", "wav", 100.0, "audio-s / core-s", 1.0, 0.1),
    Lane("gone", "wav", 100.0, "audio-s / core-s", 1.0, 0.1),
    Lane("ours", "wav", 200.0, "audio-s / core-s", 2.0, math.nan),
]
NOW = [
    Lane("naive", "wav", 50.0, "audio-s / core-s", 1.0, 0.1),
    Lane("ours", "wav", 110.0, "audio-s / core-s", 2.2, math.nan),
    Lane("ours", "flac", 110.0, "audio-s / core-s", 2.2, 0.2),
]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An older checkout, and a `uv` that answers for its benchmark and fails."""
    write_json("storage", BEFORE, tmp_path / "before.json")
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(
        "#!/bin/sh\n"
        f'echo "$PWD $*" > {tmp_path}/said; env > {tmp_path}/variables\n'
        f'for word; do target=${{word#--json=}}; done; cp {tmp_path}/before.json "$target"\n'
        "exit 1\n"
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    return tmp_path


def test_the_checkout_measures_with_its_own_noxfile(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own environment; that it finds something too slow is no matter."""
    monkeypatch.setenv("ONLY_HERE", "1")
    found = measured_by(checkout, ["storage", "--rounds=2"], without=["ONLY_HERE"])
    assert [lane.value for lane in BEFORE] == [lane.value for lane in found]
    assert math.isnan(found[2].vs_floor)
    said = (checkout / "said").read_text()
    assert said.startswith(f"{checkout} run noxfile.py -s bench -- storage --rounds=2 --json=")
    assert "ONLY_HERE" not in (checkout / "variables").read_text()


def test_lanes_of_both_are_compared() -> None:
    """What one of them lacks is left out."""
    naive, ours = comparison(BEFORE, NOW)
    assert ("naive", "wav", 0.5, 1.0, 1.0) == (
        *(naive.lane, naive.input, naive.value),
        *(naive.vs_naive, naive.vs_floor),
    )
    assert ("ours", 0.55, 1.1) == (ours.lane, ours.value, pytest.approx(ours.vs_naive))
    assert math.isnan(ours.vs_floor)


def test_the_table_shows_both(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lanes of this checkout, and behind them the ratios."""
    monkeypatch.setattr(storage, "bench", lambda rounds: NOW)
    words = ["audioloom_bench", "storage", "--rounds=2", f"--against={checkout}"]
    monkeypatch.setattr(sys, "argv", words)
    program.main()
    assert 2 == capsys.readouterr().out.count("× before")
