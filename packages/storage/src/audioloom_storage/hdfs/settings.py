"""Read properties of the cluster's configuration that hdfs-native ignores."""

import re

from audioloom_hadoop.configuration import NotConfigured, of_clients

_AS_IT_COMES = 0o022
_FOR_THE_OWNER = 0o077


def umask() -> int:
    """Return the umask of new files and folders: `fs.permissions.umask-mode`.

    A value that is not octal counts as the strictest, so that no file of ours is ever more open
    than the cluster's owner wants.
    """
    text = _value("fs.permissions.umask-mode")
    if not text:
        return _AS_IT_COMES
    return int(text, 8) if re.fullmatch("0?[0-7]{1,3}", text) else _FOR_THE_OWNER


def default_replication() -> int | None:
    """Return how many copies of a block new files request: `dfs.replication`, as in other clients.

    Returns None if it is not set, or is no number; then the NameNode decides.
    """
    text = _value("dfs.replication")
    return int(text) if re.fullmatch("[1-9][0-9]{0,3}", text) else None


def _value(name: str) -> str:
    try:
        return of_clients().value(name)
    except NotConfigured:  # hdfs-native has read these files before: there is none
        return ""
