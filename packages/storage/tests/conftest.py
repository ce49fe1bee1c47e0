"""What tests of storage share: a folder, and a way to be bound by permissions as everybody is."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import Location, locate

_CAPABILITIES_VERSION_3 = 0x20080522
_OVERRIDES = sum(1 << number for number in (1, 2, 3))  # CAP_DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER


@pytest.fixture
def here(tmp_path: Path) -> Location:
    """An empty local folder."""
    return locate(tmp_path)


@dataclass(frozen=True)
class Cluster:
    """A real HDFS, whose daemons can be killed.

    Args:
        process: `python -m audioloom_mini_cluster`.
        told: what it said when it was ready.
    """

    process: subprocess.Popen[str]
    told: dict[str, Any]

    @property
    def hdfs(self) -> Location:
        """The root, by the address of the NameNode."""
        return locate(self.told["hdfs"])

    @property
    def webhdfs(self) -> Location:
        """The root, by the NameNode's page."""
        return locate(self.told["webhdfs"])

    def do(self, line: str) -> None:
        """`kill NAME`, or `start NAME`, which waits until all work together."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert {"done": line} == json.loads(self.process.stdout.readline())

    @contextmanager
    def without(self, *daemons: str) -> Iterator[None]:
        """Until the block ends, these daemons are dead."""
        for daemon in daemons:
            self.do(f"kill {daemon}")
        try:
            yield
        finally:
            for daemon in daemons:
                self.do(f"start {daemon}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """HDFS on this machine, for as long as the tests run."""
    words = [sys.executable, "-m", "audioloom_mini_cluster", "--memory-mb", "512"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        assert process.stdin
        assert process.stdout
        ready = process.stdout.readline()
        assert ready, "the cluster did not start; it said why on standard error"
        told = json.loads(ready)
        before = os.environ.get("HADOOP_CONF_DIR")
        os.environ["HADOOP_CONF_DIR"] = told["conf"]
        try:
            yield Cluster(process, told)
        finally:
            os.environ.pop("HADOOP_CONF_DIR")
            if before is not None:
                os.environ["HADOOP_CONF_DIR"] = before
            process.stdin.close()
            assert 0 == process.wait(timeout=60)


@pytest.fixture
def bound_by_permissions() -> Iterator[None]:
    """Give up root's right to read everything, which container builds run tests with."""
    if os.geteuid() != 0:
        yield
        return
    with _without_overrides():
        yield


@contextmanager
def _without_overrides() -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves

    def call(function: str) -> None:
        if getattr(libc, function)(ctypes.byref(header), ctypes.byref(sets)) != 0:
            raise OSError(ctypes.get_errno(), function)

    call("capget")
    before = sets[0]
    sets[0] = before & ~_OVERRIDES
    call("capset")
    try:
        yield
    finally:
        sets[0] = before
        call("capset")
