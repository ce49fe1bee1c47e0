from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_every_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the page, with its folder moved to one of our own."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block.replace("/tmp/", f"{tmp_path}/"), names)  # noqa: S102, S108
    out = capsys.readouterr().out
    assert "('create', 'write', 'sync', 'commit', 'committed')" in out
    assert "the power went off at step 1: no create " in out
    assert "/again.json: it was done twice, and " in out
    assert "1 6" in out
