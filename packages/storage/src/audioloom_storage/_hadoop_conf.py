"""What hdfs-native leaves unread in the cluster's configuration."""

from __future__ import annotations

import os
import re
from contextlib import suppress
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
    found: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml"):  # the later one counts, as in Hadoop
        with suppress(NotConfigured):
            folder = os.environ.get("HADOOP_CONF_DIR", "/nonexistent")
            found.update(read_properties(Path(folder, name)))
    text = found.get("fs.permissions.umask-mode")
    if text is None:
        return _AS_IT_COMES
    return int(text, 8) if re.fullmatch("0?[0-7]{1,3}", text) else _FOR_THE_OWNER
