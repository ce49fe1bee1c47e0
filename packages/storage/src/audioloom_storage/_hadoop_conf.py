"""What hdfs-native leaves unread in the cluster's configuration."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

_AS_IT_COMES = 0o022
_FOR_THE_OWNER = 0o077


def umask() -> int:
    """The permissions that new files and folders shall not have: `fs.permissions.umask-mode`.

    A value that is not octal is taken for the strictest: no file of ours is ever more open than
    the cluster's owner wants. hdfs-native has read these files before, so what cannot be read here
    is not there.
    """
    found = None
    for name in ("core-site.xml", "hdfs-site.xml"):  # the later one counts, as in Hadoop
        try:
            text = Path(os.environ.get("HADOOP_CONF_DIR", "/nonexistent"), name).read_bytes()
            properties = ET.fromstring(text).iter("property")  # noqa: S314 - the cluster's own
        except (OSError, ET.ParseError):
            continue
        for each in properties:
            if (each.findtext("name") or "").strip() == "fs.permissions.umask-mode":
                found = (each.findtext("value") or "").strip()
    if found is None:
        return _AS_IT_COMES
    return int(found, 8) if re.fullmatch("0?[0-7]{1,3}", found) else _FOR_THE_OWNER
