from __future__ import annotations

import os
from pathlib import Path

import pytest
from audioloom_trainer.cores import available_cores

MINE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        (None, MINE),
        ("max 100000\n", MINE),
        ("nonsense", MINE),
        ("", MINE),
        ("100000 0", MINE),
        ("100000 100000\n", 1),
        ("50000 100000\n", 1),
        ("100001 100000\n", min(2, MINE)),
        ("99900000 100000\n", MINE),
    ],
)
def test_a_quota_is_rounded_up_and_never_more_than_there_are(
    tmp_path: Path, text: str | None, cores: int
) -> None:
    """A file that is not there, or says nothing, sets no limit."""
    file = tmp_path / "cpu.max"
    if text is not None:
        file.write_text(text)
    assert cores == available_cores(file)
