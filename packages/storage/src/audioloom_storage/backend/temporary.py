"""Names of unfinished files: the dot hides them from Spark and Hadoop, gc knows them by the end."""

import os
import re

from audioloom_storage.location import Location

_TEMPORARY = re.compile(r"\.(.*)\.[0-9a-f]{16}\.part", re.DOTALL)
_LONGEST_NAME = 255  # bytes, on ext4, xfs, tmpfs, and HDFS as it comes
_ADDED = len("..0123456789abcdef.part")


def is_temporary(name: str) -> bool:
    """Whether a file of this name (no folder) is unfinished: a leftover once its writer is gone."""
    return _TEMPORARY.fullmatch(name) is not None


def finished_path(path: str) -> str:
    """The path that an unfinished file is to get; that of any other file as it is.

    Others may use such names as well: ours is an unfinished file whose finished path is one that
    the stage gives. A name that is too long to have a temporary one beside it comes shortened.
    """
    folder, slash, name = path.rpartition("/")
    unfinished = _TEMPORARY.fullmatch(name)
    return path if unfinished is None else f"{folder}{slash}{unfinished[1]}"


def temporary_beside(target: Location, token: str = "") -> Location:
    """A name in the folder of `target`, unlike any other writer's unless the token is given."""
    # A name may be as long as the file system allows, and its temporary one must fit as well.
    room = _LONGEST_NAME - _ADDED
    shown = target.name.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore")
    return target.parent.child(f".{shown}.{token or os.urandom(8).hex()}.part")
