"""What hdfs-native leaves unread in the cluster's configuration."""

import re

from audioloom_hadoop.configuration import NotConfigured, of_clients

_AS_IT_COMES = 0o022
_FOR_THE_OWNER = 0o077


def umask() -> int:
    """The permissions that new files and folders shall not have: `fs.permissions.umask-mode`.

    A value that is not octal is taken for the strictest: no file of ours is ever more open than
    the cluster's owner wants.
    """
    text = _value("fs.permissions.umask-mode")
    if not text:
        return _AS_IT_COMES
    return int(text, 8) if re.fullmatch("0?[0-7]{1,3}", text) else _FOR_THE_OWNER


def replication() -> int | None:
    """How many copies of a block new files ask for: `dfs.replication`, as other clients do.

    None where it is not said here, or is no number; then the NameNode decides.
    """
    text = _value("dfs.replication")
    return int(text) if re.fullmatch("[1-9][0-9]{0,3}", text) else None


def _value(name: str) -> str:
    try:
        return of_clients().value(name)
    except NotConfigured:  # hdfs-native has read these files before: there is none
        return ""
