from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from audioloom_stage.exit_codes import ExitCode

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def test_the_stage_in_the_readme_does_what_it_shows(tmp_path: Path) -> None:
    """Every command is run as it stands there, and answers what stands there."""
    (tmp_path / "greet.py").write_text(block("python"), encoding="utf-8")
    shown = [each.partition("\n") for each in block("console").split("$ ")[1:]]
    for line, _, answer in shown:
        command = line.replace("python ", f"{sys.executable} ", 1)
        done = subprocess.run(
            ["/bin/bash", "-c", f"exec 2>&1; {command}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer == done.stdout, line


def test_the_table_of_exit_codes_is_the_table() -> None:
    """The same numbers and the same words."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", TEXT, re.MULTILINE)
    assert {code: code.meaning for code in ExitCode} == {int(n): text for n, text in rows}


def test_the_toml_is_toml() -> None:
    """With a table for each stage."""
    assert {"sharder": {"lanes": 12}, "yarn-launcher": {"workers": 2}} == tomllib.loads(
        block("toml")
    )
