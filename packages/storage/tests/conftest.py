"""What tests of storage share: a folder, and a way to be bound by permissions as everybody is."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audioloom_mini_cluster.client import running
from audioloom_storage import Location, locate
from audioloom_storage_testing.s3_server import S3, running_s3
from storage_cluster import Cluster

_CAPABILITIES_VERSION_3 = 0x20080522
_OVERRIDES = sum(1 << number for number in (1, 2, 3))  # CAP_DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER


@pytest.fixture
def here(tmp_path: Path) -> Location:
    """An empty local folder."""
    return locate(tmp_path)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """HDFS on this machine, for as long as the tests run."""
    with (
        running("--hdfs-only", "--tokens") as found,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HADOOP_CONF_DIR", found.conf)
        yield Cluster(found)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """An S3 server, for as long as the tests run."""
    with running_s3() as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.environment.items():
            patch.setenv(name, value)
        yield found


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
