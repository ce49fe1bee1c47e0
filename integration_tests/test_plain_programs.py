"""Trainings that know nothing of audioloom, as users of other launchers write them, unchanged."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.programs import programs_from_environment

pytestmark = pytest.mark.slow

PATIENCE_S = 420
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """These need no cluster, in whose place this fixture of the other tests looks."""


@dataclass(frozen=True)
class Ran:
    """How a program went that two workers ran on this machine."""

    folder: Path

    def log(self, rank: int) -> str:
        """What the worker of a rank has written."""
        return (self.folder / f"logs/{rank}/1.log").read_text()

    def told(self, rank: int) -> Any:
        """The line of JSON in it; TensorFlow may say after it that the other worker is gone."""
        (line,) = (each for each in self.log(rank).splitlines() if each.startswith('{"loss"'))
        return json.loads(line)


def run(root: Path, program: str, *arguments: str, options: tuple[str, ...] = ()) -> Ran:
    """Run `python PROGRAM …` by two workers, with the trainer's Python, where TensorFlow is."""
    paths = programs_from_environment().paths
    search = f"{Path(paths['trainer']).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [
            *(paths["yarn-launcher"], "run", "--workers=2", f"--root={root}", *options),
            *("--max-restarts=0", "--", "python", str(PROGRAMS / program), *arguments),
        ],
        env={**os.environ, "PATH": search, "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return Ran(Path(done.stdout.strip()))


def test_a_script_for_tony_runs_as_it_is(tmp_path: Path) -> None:
    """It learns by its variables who it is; both learn the same, and the chief has a page."""
    ran = run(tmp_path / "root", "tony_style.py", f"--working_dir={tmp_path}/out")
    told = [ran.told(rank) for rank in range(2)]
    assert told[0] == told[1] == json.loads((tmp_path / "out/model.json").read_text())
    assert [2.0, -1.0, 0.5] == [round(each[0], 2) for each in told[0]["weights"]]
    assert [1, 0] == [ran.log(rank).count("page on port ") for rank in range(2)]


def test_a_script_for_tf_yarn_runs_as_it_is(tmp_path: Path) -> None:
    """With `--chief` it finds the chief that it saves by, and a worker 0 beside it."""
    ran = run(tmp_path / "root", "tf_yarn_style.py", f"{tmp_path}/model", options=("--chief",))
    for rank, me in enumerate(("chief 0", "worker 0")):
        assert f"{me} of ['chief', 'worker']" in ran.log(rank)
    losses = [re.findall(r"epoch \d: (\S+)", ran.log(rank)) for rank in range(2)]
    assert losses[0] == losses[1]
    assert float(losses[0][-1]) < float(losses[0][0])
    assert ["model", "root"] == sorted(each.name for each in tmp_path.iterdir())
    assert (tmp_path / "model/model.keras").stat().st_size > 0
