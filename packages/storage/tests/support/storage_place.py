"""A folder on one of the storages that the behaviour tests run against."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from audioloom_storage import Location
from storage_cluster import Cluster


@dataclass(frozen=True)
class Place:
    """An empty folder on some storage.

    Args:
        folder: where.
        prelude: Python that brings another process to the same storage.
    """

    folder: Location
    prelude: str
    cluster: Cluster | None = None

    def mode(self, location: Location) -> int:
        """The permissions there, as the storage itself tells them."""
        if self.cluster is None:
            return Path(location.path).stat().st_mode & 0o777
        from hdfs_native import Client

        client = Client(str(self.cluster.hdfs))
        return client.get_file_info(location.path).permission & 0o777

    @contextmanager
    def umask(self, mask: int) -> Iterator[None]:
        """Whoever creates something asks for these permissions to be left out."""
        if self.cluster is None:
            before = os.umask(mask)
            try:
                yield
            finally:
                os.umask(before)
            return
        given = Path(os.environ["HADOOP_CONF_DIR"])
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            for name in ("core-site.xml", "hdfs-site.xml"):
                text = (given / name).read_text()
                one = f"<name>fs.permissions.umask-mode</name><value>{mask:03o}</value>"
                line = f"<property>{one}</property></configuration>"
                Path(folder, name).write_text(text.replace("</configuration>", line))
            patch.setenv("HADOOP_CONF_DIR", folder)
            yield
