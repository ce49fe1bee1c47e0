"""Launchers as processes, started as a user starts them, and the notes of their gangs."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

MEMBER = Path(__file__).parents[1] / "programs" / "member.py"
PATIENCE_S = 90


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZXx"
    except OSError:
        return False


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that will come; its value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s in vain: {what}")
        time.sleep(0.02)
    return value


@dataclass
class Launches:
    """Starts launchers below one folder, and ends in the test's end what they left."""

    folder: Path
    root: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        """Where the members write."""
        return self.folder / "notes"

    def start(
        self, *parts: str, options: tuple[str, ...] = (), **more: Any
    ) -> subprocess.Popen[str]:
        """Start `run … -- member.py` in the background."""
        member = (sys.executable, str(MEMBER), str(self.notes), *parts)
        return self.program("run", "--root", str(self.root), *options, "--", *member, **more)

    def program(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start the launcher with these arguments."""
        process = subprocess.Popen(
            [sys.executable, "-m", "audioloom_yarn_launcher", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            **{"stderr": subprocess.PIPE, **more},
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **more: Any) -> tuple[int, str, str]:
        """Run the launcher with these arguments to its end: exit code, stdout, stderr."""
        return finish(self.program(*arguments, **more))

    def go(self) -> None:
        """Let the members end."""
        (self.notes / "go").touch()

    def note(self, rank: int, attempt: int) -> dict[str, Any]:
        """What a member has noted, as soon as it has."""
        path = self.notes / f"{rank}.{attempt}.json"
        until(path.exists, f"member {rank} of attempt {attempt}")
        noted: dict[str, Any] = json.loads(path.read_text())
        return noted

    def pids(self) -> set[int]:
        """All processes that any member has told of: itself, its worker, and what it started."""
        notes = [json.loads(path.read_text()) for path in self.notes.glob("*.json")]
        return {note[which] for note in notes for which in ("pid", "worker", "escaped")}

    def record(self, process_output: str, name: str) -> dict[str, Any]:
        """A record of the run whose location was printed."""
        record: dict[str, Any] = json.loads((Path(process_output) / "attempts" / name).read_text())
        return record

    def the_run(self) -> Path:
        """The only run folder there is."""
        (folder,) = (self.root / "runs").iterdir()
        return folder


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a launcher: exit code, stdout, stderr."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.strip(), err


def configure(folder: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    (folder / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.resourcemanager.webapp.address</name>"
        f"<value>{page}</value></property></configuration>"
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(folder))
