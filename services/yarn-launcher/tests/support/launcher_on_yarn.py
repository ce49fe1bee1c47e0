"""A real cluster for the tests, and launchers that use it as a person would."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from audioloom_mini_cluster import faults
from audioloom_mini_cluster.client import Running

PATIENCE_S = 240
until = partial(faults.until, seconds=PATIENCE_S)
ONE_A_NODE = "--memory=3200 MiB"
"""An option of `run`: a node has room for one worker only, so two workers are on two nodes."""
NO_ROOM_FOR_ALL_MB = 1152
"""Of a node: an application master and one worker fit, not two workers beside the master."""
OURS = ("skein.Driver", "skein.ApplicationMaster", "audioloom_yarn_launcher", "/bin/sleep 317")


@dataclass
class OnCluster:
    """Starts launchers on a cluster, with all they write below one folder of HDFS."""

    cluster: Running
    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    @property
    def root(self) -> str:
        """The root of all runs."""
        return f"{self.cluster.base}/{self.token}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a launcher."""
        return {**self.cluster.variables, "SKEIN_CONFIG": str(self.folder / "skein")}

    def start(self, *words: str, **changed: str | None) -> subprocess.Popen[str]:
        """Start the launcher with these words, and some variables changed; None takes one away."""
        variables = {**self.variables, **changed}
        process = subprocess.Popen(
            [sys.executable, "-m", "audioloom_yarn_launcher", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={name: value for name, value in variables.items() if value is not None},
        )
        self.started.append(process)
        return process

    def run(self, name: str, *parts: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start `run --on yarn` of two workers."""
        program = Path(__file__).parents[1] / "programs" / "on_node.py"
        return self.start(
            *("run", "--on=yarn", "--workers=2", "--memory=256 MiB", f"--root={self.root}"),
            *(f"--name={name}", f"--files={program}", *options),
            *("--", "python3", program.name, *parts),
        )

    def conf(self, *, without: str = "", **changed: str) -> str:
        """A copy of the cluster's configuration that is wrong; `__` in a name is a dot."""
        folder = self.folder / f"conf-{uuid.uuid4().hex[:8]}"
        shutil.copytree(self.cluster.conf, folder)
        for path in folder.glob(without or "nothing"):
            path.unlink()
        for path in folder.glob("*-site.xml"):
            text = path.read_text()
            for name, value in changed.items():
                start = f"<name>{name.replace('__', '.')}</name><value>"
                text = re.sub(f"(?<={re.escape(start)})[^<]*", value, text)
            path.write_text(text)
        return str(folder)

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str, str]:
        """Wait for the end of a launcher: exit code, stdout, stderr."""
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out.strip(), err

    def call(self, *words: str) -> tuple[int, str, str]:
        """Run a launcher to its end: exit code, stdout, stderr."""
        return self.finish(self.start(*words))

    def where(self, name: str) -> str:
        """The folder of a run."""
        return f"{self.root}/runs/{name}"

    def status(self, name: str) -> dict[str, Any]:
        """What `status --json` says; {} if there is no such run yet."""
        code, out, err = self.call("status", "--json", self.where(name))
        assert code in (0, 66), err
        found: dict[str, Any] = json.loads(out) if code == 0 else {}
        return found

    def note(self, name: str, rank: int, attempt: int) -> dict[str, Any]:
        """What a worker has said of itself."""
        words = ("logs", f"--rank={rank}", f"--attempt={attempt}", self.where(name))
        code, out, err = self.call(*words)
        assert 0 == code, err
        note: dict[str, Any] = json.loads(out.splitlines()[0])
        return note

    def until_running(self, name: str) -> None:
        """Wait until the workers of a run are at work."""
        until(lambda: self.status(name).get("state") == "running", f"{name} runs")

    def close(self) -> None:
        """End what a failed test left; nothing is left by one that did not fail."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for application in self.cluster.applications():
            words = ["yarn", "application", "-kill", application]
            subprocess.run(words, env=self.variables, check=False, capture_output=True)


def processes(cluster: Running) -> list[str]:
    """The processes of a cluster's containers, and those of launchers, that live."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            variables = (entry / "environ").read_bytes()
        except OSError:
            continue
        ours = any(word in command for word in OURS) and entry.name != str(os.getpid())
        if ours and cluster.folder.encode() in variables + command.encode():
            found.append(f"{entry.name} {command}")
    return found


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)
