"""A real cluster, the stage as a program on it, and faults; used by `test_cluster` alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audioloom_storage import Location, is_temporary, list_folder, locate
from audioloom_storage.errors import NotFound

PATIENCE_SECONDS = 600  # a machine that does much else besides
PROGRAM = str(Path(sys.executable).with_name("audioloom-sharder"))
ON_YARN = (
    *("--master", "yarn", "--executors", "2"),
    *("--executor-cores", "1", "--executor-memory", "1GiB"),
)


@dataclass(frozen=True)
class Cluster:
    """A running mini cluster."""

    facts: dict[str, Any]
    process: subprocess.Popen[str]

    @property
    def root(self) -> Location:
        return locate(self.facts["hdfs"])

    @property
    def nodes(self) -> list[str]:
        return list(self.facts["nodes"])

    def tell(self, words: str) -> None:
        """`kill NAME` or `start NAME`, and wait until it is done."""
        assert self.process.stdin
        assert self.process.stdout
        print(words, file=self.process.stdin, flush=True)
        assert {"done": words} == json.loads(self.process.stdout.readline())

    def living(self) -> list[str]:
        """The applications that are not over."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.facts["pages"]["yarn"] + "/ws/v1/cluster/apps", timeout=30) as answer:
            found = json.loads(answer.read())["apps"] or {"app": []}
        return [app["id"] for app in found["app"] if app["state"] in ("ACCEPTED", "RUNNING")]

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start a command of the stage."""
        return subprocess.Popen(
            [PROGRAM, *map(str, words)],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HADOOP_CONF_DIR": self.facts["conf"]},
        )

    def run(self, *words: object) -> str:
        """Run a command that must succeed; what it prints."""
        return ended(self.start(*words), 0)[0]

    def kill_an_executor(self) -> None:
        """SIGKILL for a JVM that does tasks of the application that runs."""
        (name,) = self.living()
        number = name.removeprefix("application_")
        os.kill(next(_executors(number)), signal.SIGKILL)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    command = [sys.executable, "-m", "audioloom_mini_cluster", "--memory-mb", "3072"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield Cluster(json.loads(process.stdout.readline()), process)
        finally:
            process.stdin.close()
            process.wait(timeout=120)


def ended(process: subprocess.Popen[str], *codes: int) -> tuple[str, str]:
    """Wait for the end with one of these exit codes; what it printed."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in codes, err
    return out.strip(), err


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that will come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.2)


def files(folder: Location) -> list[str]:
    """Finished files of a folder; none where it is not there yet."""
    try:
        names = [entry.location.name for entry in list_folder(folder)]
    except NotFound:
        return []
    return [name for name in names if not is_temporary(name)]


def _executors(number: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            program, _, words = (entry / "cmdline").read_bytes().partition(b"\0")
            wanted = b"CoarseGrainedExecutorBackend" in words and number.encode() in words
            if program.endswith(b"/java") and wanted:
                yield int(entry.name)
