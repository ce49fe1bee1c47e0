"""Names of files that are not finished: hidden from Spark and Hadoop by the dot, known to gc by the end."""

from __future__ import annotations

import re
import secrets

from audioloom_storage.location import Location

_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.part", re.DOTALL)
_LONGEST_NAME = 255  # bytes: ext4, xfs, tmpfs, HDFS by default
_ADDED = len("..0123456789abcdef.part")


def is_temporary(name: str) -> bool:
    """Whether a file of this name (no folder) is unfinished, and a leftover once its writer is gone."""
    return _TEMPORARY.fullmatch(name) is not None


def temporary_beside(target: Location) -> Location:
    """A new name in the folder of `target`, unlike any other writer's."""
    room = _LONGEST_NAME - _ADDED
    # A name may be as long as the file system allows; its temporary one must still fit.
    shown = target.name.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore")
    return target.parent.child(f".{shown}.{secrets.token_hex(8)}.part")
