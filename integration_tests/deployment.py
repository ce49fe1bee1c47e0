"""The installed stages on a cluster: started by their command lines, watched, and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from audioloom_mini_cluster import faults
from audioloom_mini_cluster.client import Running
from audioloom_mini_cluster.faults import listening
from audioloom_quickstart.realdata import PATTERN
from audioloom_storage import Location, exists, list_folder, locate, read_bytes

PATIENCE_S = 420
until = partial(faults.until, seconds=PATIENCE_S)
TAIL_LINES = 60
MOST_BYTES = 1 << 20
SPLIT = "train=0.7,val=0.15,test=0.15"


@dataclass
class Command:
    """A program of ours that was started.

    Args:
        process: it.
        words: its command line.
        messages: the file that its stderr goes to.
    """

    process: subprocess.Popen[str]
    words: tuple[str, ...]
    messages: Path

    @property
    def said(self) -> str:
        """What it has said on stderr so far."""
        return self.messages.read_text(encoding="utf-8", errors="replace")

    def finish(self) -> tuple[int, str]:
        """Wait for its end; its exit code and its stdout."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.strip()

    def answer(self) -> str:
        """Wait for its end, which must be a good one; its stdout."""
        code, out = self.finish()
        assert code == 0, f"{self.words} ended with exit code {code}:\n{self.said}"
        return out

    def until_said(self, text: str) -> None:
        """Wait until it has said this; it must not have ended."""

        def found() -> bool:
            said = text in self.said
            assert said or self.process.poll() is None, f"it ended without: {text}\n{self.said}"
            return said

        until(found, f"it says: {text}")

    def kill(self) -> None:
        """SIGKILL, to it alone."""
        self.process.kill()
        self.process.communicate()


@dataclass
class Deployment:
    """Four programs and a cluster.

    Args:
        cluster: that they run on.
        paths: where each program is installed.
        folder: a local one, for what they say.
        root: of all that they write, in HDFS.
    """

    cluster: Running
    paths: Mapping[str, str]
    folder: Path
    root: str
    started: list[Command] = field(default_factory=list)

    def start(
        self, program: str, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> Command:
        """Start a program, one that is installed or else one of the cluster's.

        Args:
            program: which.
            arguments: its command line.
            variables: of its environment, beside those of the tests.
        """
        words = (self.paths.get(program, program), *arguments)
        messages = self.folder / f"{len(self.started)}-{Path(program).name}.log"
        with messages.open("wb") as sink:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                cwd=self.folder,
                # What those that are killed leave behind goes with the tests' own folder.
                env={**os.environ, "TMPDIR": str(self.folder), **(variables or {})},
            )
        self.started.append(Command(process, words, messages))
        return self.started[-1]

    def answer(self, program: str, *arguments: str) -> str:
        """Run a program to its end, which must be a good one; its stdout."""
        return self.start(program, *arguments).answer()

    def put(self, local: Path, name: str) -> str:
        """Copy a folder into HDFS; where it is."""
        target = f"{self.root}/{name}"
        self.answer("hdfs", "dfs", "-mkdir", "-p", self.root)
        self.answer("hdfs", "dfs", "-put", "-t", "8", str(local), target)
        return target

    def scan(self, local: Path, name: str) -> str:
        """Copy recordings into HDFS and list them there; the manifest."""
        where = self.put(local, name)
        options = ("--root", self.root, "--pattern", PATTERN)
        return self.answer("featurizer", "scan", where, *options)

    def get(self, manifest: str) -> str:
        """Copy the folder of a manifest from HDFS; the manifest's path."""
        source = manifest.removesuffix("/manifest.json")
        target = self.folder / "-".join(source.split("/")[-2:])
        self.answer("hdfs", "dfs", "-get", source, str(target))
        return str(target / "manifest.json")

    def manifests(self, folder: str) -> list[str]:
        """The manifests in a folder of the root, such as "features"."""
        found = [each / "manifest.json" for each in self.children(folder)]
        return [each.uri for each in found if exists(each)]

    def seats(self) -> set[str]:
        """The addresses that any worker of any run has told the others to reach it at."""
        found = set()
        for run in self.children("runs"):
            for record in self.children(f"runs/{run.name}/attempts"):
                if record.name.endswith(".members.json"):
                    workers = json.loads(read_bytes(record, limit=MOST_BYTES))["workers"]
                    found |= {each["address"] for each in workers}
        return found

    def children(self, folder: str) -> list[Location]:
        """What is in a folder of the root; nothing where it is not there."""
        here = locate(f"{self.root}/{folder}")
        return [entry.location for entry in list_folder(here)] if exists(here) else []

    def status(self, run: str) -> dict[str, Any]:
        """What the launcher says of a run."""
        found: dict[str, Any] = json.loads(self.answer("yarn-launcher", "status", "--json", run))
        return found

    def step(self, run: str) -> int:
        """The last step that any worker of a run has told of, 0 before the first."""
        return max(each["progress"].get("step", 0) for each in self.status(run)["workers"])

    def until_quiet(self) -> None:
        """Wait until nothing of ours runs any more on the cluster."""
        until(lambda: not self.cluster.applications(), "all applications have ended")
        until(lambda: not list(self.processes()), "all containers have ended")
        seats = self.seats()  # the kernel frees a port a moment after the process is no longer seen
        until(lambda: not listening(seats), "the ports of all workers are free")

    def processes(self, word: str = "") -> Iterator[tuple[int, list[str], dict[str, str]]]:
        """The processes in containers: id, command line with *word* in it, environment."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                lines = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            variables = dict(line.split("=", 1) for line in lines if "=" in line)
            local = variables.get("LOCAL_DIRS", "")
            if local.startswith(self.cluster.folder) and any(word in each for each in words):
                yield int(entry.name), words, variables

    def close(self) -> None:
        """End what a failed test left; one that did not fail leaves nothing."""
        for command in self.started:
            if command.process.poll() is None:
                command.kill()
        for application in self.cluster.applications():
            self.start("yarn", "application", "-kill", application).finish()

    def logs(self, application: str) -> str:
        """The last lines that the containers of an application have written."""
        command = self.start("yarn", "logs", "-applicationId", application)
        _, out = command.finish()
        return "\n".join(out.splitlines()[-TAIL_LINES:])


def rank_of(variables: Mapping[str, str]) -> int:
    """The rank that TF_CONFIG gives a process."""
    return int(json.loads(variables["TF_CONFIG"])["task"]["index"])


def address_of(variables: Mapping[str, str]) -> str:
    """The address that TF_CONFIG gives a process."""
    config = json.loads(variables["TF_CONFIG"])
    task = config["task"]
    return str(config["cluster"][task["type"]][task["index"]])


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)
