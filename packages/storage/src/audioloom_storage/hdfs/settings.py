"""What hdfs-native leaves unread in the cluster's configuration."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from audioloom_storage.errors import NotConfigured
from audioloom_storage.hadoop_configuration import read_properties

_AS_IT_COMES = 0o022
_FOR_THE_OWNER = 0o077


def umask() -> int:
    """The permissions that new files and folders shall not have: `fs.permissions.umask-mode`.

    A value that is not octal is taken for the strictest: no file of ours is ever more open than
    the cluster's owner wants. hdfs-native has read these files before, so what cannot be read here
    is not there.
    """
    text = _properties().get("fs.permissions.umask-mode")
    if text is None:
        return _AS_IT_COMES
    return int(text, 8) if re.fullmatch("0?[0-7]{1,3}", text) else _FOR_THE_OWNER


def replication() -> int | None:
    """How many copies of a block new files ask for: `dfs.replication`, as other clients do.

    None where it is not said here, or is no number; then the NameNode decides.
    """
    text = _properties().get("dfs.replication", "")
    return int(text) if re.fullmatch("[1-9][0-9]{0,3}", text) else None


def _properties() -> dict[str, str]:
    found: dict[str, str] = {}
    folder = os.environ.get("HADOOP_CONF_DIR", "/nonexistent")
    for name in ("core-site.xml", "hdfs-site.xml"):  # the later one counts, as in Hadoop
        path = Path(folder, name)
        with suppress(OSError, NotConfigured):
            is_now = path.stat()
            found.update(_read(path, is_now.st_mtime_ns, is_now.st_size))
    return found


@lru_cache(maxsize=8)
def _read(path: Path, modified_ns: int, size: int) -> dict[str, str]:
    """What the file says as it is now: it is asked for each file that is written."""
    del modified_ns, size
    return dict(read_properties(path))
