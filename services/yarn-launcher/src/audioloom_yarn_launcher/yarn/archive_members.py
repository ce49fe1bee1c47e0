"""The members of an archive, and whether they stay in the folder that it is unpacked into.

A node unpacks archives as this user, with a Hadoop of any age. A name that leads out of the folder
writes there, and so does a name that passes through a link which leads out. A link that no other
name passes through is harmless: `bin/python` of a virtual environment may be a link to the node's
interpreter.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

Kind = Literal["file", "folder", "link", "hard link", "other"]


@dataclass(frozen=True)
class Member:
    """A member of an archive; of the kind "other" are devices, pipes and the like."""

    name: str
    kind: Kind
    target: str = ""


def first_fault(members: Iterable[Member]) -> str | None:
    """Describe the first member that must not be unpacked; None if all may be.

    The order is that of unpacking, and a name may occur more than once.
    """
    leading_out: set[PurePosixPath] = set()
    for member in members:
        fault = _fault(member, leading_out)
        if fault is not None:
            return f"{member.name!r} {fault}"
        if member.kind == "link" and _leads_out(member):
            leading_out.add(_place(member.name))
    return None


def _fault(member: Member, leading_out: set[PurePosixPath]) -> str | None:
    if _is_outside(member.name):
        return "leads out of the archive"
    place = _place(member.name)
    through = leading_out.intersection(place.parents)
    if through:
        return f"lies below {str(through.pop())!r}, a link that leads out of the archive"
    if member.kind == "other":
        return "is neither a file, a folder nor a link"
    if _is_forbidden_link(member, leading_out):
        return f"is a {member.kind} to {member.target!r}, which leads out of the archive"
    if place in leading_out and member.kind != "link":
        return "is written through a link of that name, which leads out of the archive"
    return None


def _is_forbidden_link(member: Member, leading_out: set[PurePosixPath]) -> bool:
    if member.kind == "hard link":
        target = _place(member.target)
        through = leading_out.intersection((target, *target.parents))
        return _is_outside(member.target) or bool(through)
    is_absolute = member.target.startswith("/")
    return member.kind == "link" and not is_absolute and _leads_out(member)


def _leads_out(link: Member) -> bool:
    return _is_outside(posixpath.join(posixpath.dirname(link.name), link.target))


def _is_outside(path: str) -> bool:
    return path.startswith("/") or posixpath.normpath(path).split("/")[0] == ".."


def _place(name: str) -> PurePosixPath:
    return PurePosixPath(posixpath.normpath(name))
