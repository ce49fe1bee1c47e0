"""Disks that can be filled: each node gets one of its own for its containers and their logs."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from audioloom_mini_cluster.client import Running

DISK_MB = 1024
"""Room for what YARN brings there: the launcher's environment."""


@dataclass(frozen=True)
class Disks:
    """The disks of all nodes, by their mount points."""

    paths: tuple[Path, ...]

    def fill(self) -> None:
        """Leave no room."""
        for path in self.paths:
            with (path / "filler").open("wb") as file:
                found = os.fstatvfs(file.fileno())
                os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize)

    def free(self) -> None:
        """Make room."""
        for path in self.paths:
            (path / "filler").unlink()


@contextmanager
def small_disks(cluster: Running) -> Iterator[Disks]:
    """Until the block ends, what containers write lies on such disks; nothing of them stays."""
    paths = []
    with ExitStack() as stack:
        for number in range(1, len(cluster.nodes) + 1):
            node = Path(cluster.folder, f"node-{number}")
            stack.enter_context(_mounted(cluster, node, f"nodemanager-{number}"))
            paths.append(node / "local")
        yield Disks(tuple(paths))


@contextmanager
def _mounted(cluster: Running, node: Path, manager: str) -> Iterator[None]:
    local, logs = node / "local", node / "logs"
    with cluster.without(manager):
        _mount("-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755", "tmpfs", str(local))
        (local / "logs").mkdir()
        _mount("--bind", str(local / "logs"), str(logs))
    try:
        yield
    finally:
        with cluster.without(manager):
            unmount = ["umount", "--lazy", str(logs), str(local)]
            subprocess.run(unmount, check=True)


def _mount(*words: str) -> None:
    command = ["mount", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
