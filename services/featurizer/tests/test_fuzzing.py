from __future__ import annotations

from pathlib import Path

from featurizer_fuzzing import fuzz


def test_no_bytes_are_without_an_answer(tmp_path: Path) -> None:
    """Mutated files of every format: features or a class with a name, and `verify` is green."""
    found = list(fuzz(tmp_path, 500, seed=2, batch=100))[-1]
    assert 500 == found.extracted + found.refusals.total()
    assert [] == [row for row in found.bad if row["class"] == "unexpected"]
    assert found.extracted > 100
    assert found.flagged > 20
    assert found.windows > 200
