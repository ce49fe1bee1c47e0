"""Names of unfinished files: the dot hides them from Spark and Hadoop, gc finds the suffix."""

import os
import re

from audioloom_storage.location import Location

_TEMPORARY = re.compile(r"\.(.*)\.[0-9a-f]{16}\.part", re.DOTALL)
_LONGEST_NAME = 255  # bytes, on ext4, xfs, tmpfs, and HDFS by default
_ADDED = len("..0123456789abcdef.part")


def is_temporary(name: str) -> bool:
    """Return whether a file of this name (no folder) is that of an unfinished file."""
    return _TEMPORARY.fullmatch(name) is not None


def finished_path(path: str) -> str:
    """Return the final path of an unfinished file; any other path is returned unchanged.

    Other programs may use such names too: a file is ours only if the stage uses its finished path.
    Where the temporary name would be too long, the finished name comes shortened.
    """
    folder, slash, name = path.rpartition("/")
    unfinished = _TEMPORARY.fullmatch(name)
    return path if unfinished is None else f"{folder}{slash}{unfinished[1]}"


def temporary_beside(target: Location, token: str = "") -> Location:
    """Return a name in the folder of `target`, unique to this writer unless a token is given."""
    # A name may be as long as the file system allows, and its temporary name must fit as well.
    room = _LONGEST_NAME - _ADDED
    shown = target.name.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore")
    return target.parent.child(f".{shown}.{token or os.urandom(8).hex()}.part")
