"""The stage called as a program, and what it answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest

_SUPPORT = Path(__file__).parent
ZOO = _SUPPORT / "model_zoo.py"
OLDER = _SUPPORT / "legacy_networks.py"
CALLBACK_ZOO = _SUPPORT / "callback_zoo.py"

# Words that make a run of seconds. Paths are added by who uses them.
SMALL = ("--epochs", "2", "--batch-size", "16", "--model-arg", "filters=4")


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The object of --json."""
        return json.loads(self.out)  # type: ignore[no-any-return]


Trainer = Callable[..., Ran]
RetryFor = Callable[..., None]


@dataclass(frozen=True)
class Trained:
    """A root with shards and a committed run, to be looked at but not changed."""

    root: Path
    run: Opened[TrainingRunManifest]
    ran: Ran
    """What the command that made it said, as a program of its own."""

    def copy(self, root: Path) -> Trained:
        """The same under a root that may be changed."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        folder = root / Path(self.run.folder.path).relative_to(self.root)
        return Trained(root, read_manifest(str(folder), expect="training-run"), self.ran)


def call(*words: object, **variables: str) -> Ran:
    """Run a command as a program of its own."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "TF_CONFIG" and not name.startswith("AUDIOLOOM_")
    }
    program = Path(sys.executable).with_name("audioloom-trainer")
    done = subprocess.run(
        [program, *map(str, words)],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
