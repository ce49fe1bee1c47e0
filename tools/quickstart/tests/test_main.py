import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("variables", "exit_code"), [({}, 0), ({"CI": "true"}, 1)])
def test_silent_registry_ends_the_session(
    tmp_path: Path, variables: dict[str, str], exit_code: int
) -> None:
    """By hand a plain reason and success; in CI a failure."""
    program = tmp_path / "voices"
    program.write_text(f"#!{sys.executable}\nraise SystemExit(69)\n")
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "audioloom_quickstart", "realdata", "--folder", str(tmp_path / "x")],
        env=environment | variables | {"AUDIOLOOM_PROGRAMS": json.dumps({"voices": str(program)})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert exit_code == done.returncode
    assert (not exit_code) == ("Skipped: Debian's package registry does not answer" in done.stdout)
