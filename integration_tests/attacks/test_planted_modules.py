"""Modules that somebody planted in the working folder and beside the model are never run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs
from tones import PATTERN, write_tones
from verdict import refused

# By these names Python and what the stages stand on look for something else.
NAMED = (
    *("queue", "json", "random", "socket", "subprocess", "tempfile", "threading", "uuid"),
    *("typing_extensions", "numpy", "pyarrow", "pydantic", "structlog", "cloudpickle", "pyspark"),
    *("py4j", "tensorflow", "keras", "audioloom_stage", "sitecustomize", "usercustomize"),
)
OTHERS = sorted(sys.stdlib_module_names - {"__main__", *NAMED})
# Each leaves a trace and then the place to the real one, so that it can be seen what comes next.
PLANTED = """
import os
import sys
open(os.path.join({ran!r}, __name__), "w").close()
_path, _here = sys.path[:], os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [each for each in _path if os.path.abspath(each) != _here]
sys.modules.pop(__name__)
try:
    __import__(__name__)
finally:
    sys.path[:] = _path
"""
MODEL = """
import random
from audioloom_trainer.networks import conv1d

def build(shape, classes):
    return conv1d(shape, classes)
"""
CONFIGURATION = 78


@dataclass(frozen=True)
class Trap:
    """A working folder that is full of planted modules, and what ran of them."""

    programs: Programs
    folder: Path

    @property
    def ran(self) -> Path:
        """The folder in which each planted module that is run leaves a file."""
        return self.folder / "ran"

    @property
    def root(self) -> str:
        """Of all manifests."""
        return str(self.folder / "root")

    def set_up(self) -> None:
        """Plant the modules in the working folder and, another one, beside the model."""
        self.ran.mkdir()
        for place in (self.folder / "work", self.folder / "models"):
            place.mkdir()
            for name in (*NAMED, *OTHERS):
                (place / f"{name}.py").write_text(PLANTED.format(ran=str(self.ran)))
            (place / "model.py").write_text(MODEL)
        write_tones(self.folder / "source")

    def walk_into(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a stage there, and print of each module whether it was run."""
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
        done = subprocess.run(
            [self.programs.paths[program], *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder / "work",
            env=variables,
        )
        ran = {each.name for each in self.ran.iterdir()}
        for each in self.ran.iterdir():
            each.unlink()
        said = f"{program} {words[0]}"
        for name in NAMED:
            refused(f"{name}.py in the working folder of {said}", held=name not in ran)
        others = ran - {*NAMED}
        refused(f"{len(OTHERS)} others {sorted(others) or ''} by {said}", held=not others)
        return done

    def make(self, program: str, *words: str) -> str:
        """Let a stage make something among them; what it says."""
        done = self.walk_into(program, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def trap(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Trap:
    """Made once."""
    made = Trap(programs, tmp_path_factory.mktemp("planted"))
    made.set_up()
    return made


@pytest.fixture(scope="module")
def shards(trap: Trap) -> str:
    """What featurizer and sharder make among them, with Spark."""
    scan = ("scan", str(trap.folder / "source"), "--pattern", PATTERN)
    recordings = trap.make("featurizer", *scan, "--root", trap.root)
    features = trap.make("featurizer", "run", recordings, "--master", "local[1]")
    return trap.make("sharder", "run", features, "--lanes", "2", "--master", "local[1]")


def test_the_stages_that_make_shards(shards: str) -> None:
    """Their own processes, Spark's, and those in which recordings are decoded."""
    assert shards.endswith(".json")


@pytest.mark.parametrize("place", ["work", "models"])
def test_a_training(trap: Trap, shards: str, place: str) -> None:
    """With a model whose folder is the working folder, and with one of another."""
    model = f"{trap.folder / place / 'model.py'}:build"
    trap.make("trainer", "run", shards, "--epochs", "1", "--model", model, "--name", place)


def test_a_gang(trap: Trap, shards: str) -> None:
    """The launcher, its workers and what they run."""
    begin = ("run", "--root", trap.root, "--name", "gang", "--workers", "2", "--")
    train = ("run", shards, "--epochs", "1", "--batch-size", "4", "--model", "model.py:build")
    trap.make("yarn-launcher", *begin, str(trap.programs.paths["trainer"]), *train)


def test_a_model_by_the_name_of_a_module_there(trap: Trap, shards: str) -> None:
    """Only what is installed has a name."""
    done = trap.walk_into("trainer", "run", shards, "--model", "model:build", "--name", "module")
    refused("model.py by the name of a module", held=done.returncode == CONFIGURATION)
