"""The members of an archive, and whether they stay in the folder that it is unpacked into.

A node unpacks archives as this user, with a Hadoop of any age. A name that leads out of the folder
writes there, and so does a name that passes through a link which leads out. A link that no other
name passes through is harmless: `bin/python` of a virtual environment may be a link to the node's
interpreter.
"""

import posixpath
import tarfile
from collections.abc import Iterable
from pathlib import PurePosixPath


def first_fault(members: Iterable[tarfile.TarInfo]) -> str | None:
    """Describe the first member that must not be unpacked; None if all may be.

    The order is that of unpacking, and a name may occur more than once.
    """
    leading_out: set[PurePosixPath] = set()
    for member in members:
        fault = _fault(member, leading_out)
        if fault is not None:
            return f"{member.name!r} {fault}"
        if member.issym() and _leads_out(member):
            leading_out.add(_place(member.name))
    return None


def _fault(member: tarfile.TarInfo, leading_out: set[PurePosixPath]) -> str | None:
    if _is_outside(member.name):
        return "leads out of the archive"
    place = _place(member.name)
    through = leading_out.intersection(place.parents)
    if through:
        return f"lies below {str(through.pop())!r}, a link that leads out of the archive"
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return "is neither a file, a folder nor a link"
    if _is_forbidden_link(member, leading_out):
        kind = "hard link" if member.islnk() else "link"
        return f"is a {kind} to {member.linkname!r}, which leads out of the archive"
    if place in leading_out and not member.issym():
        return "is written through a link of that name, which leads out of the archive"
    return None


def _is_forbidden_link(member: tarfile.TarInfo, leading_out: set[PurePosixPath]) -> bool:
    if member.islnk():
        target = _place(member.linkname)
        through = leading_out.intersection((target, *target.parents))
        return _is_outside(member.linkname) or bool(through)
    is_absolute = member.linkname.startswith("/")
    return member.issym() and not is_absolute and _leads_out(member)


def _leads_out(link: tarfile.TarInfo) -> bool:
    return _is_outside(posixpath.join(posixpath.dirname(link.name), link.linkname))


def _is_outside(path: str) -> bool:
    return path.startswith("/") or posixpath.normpath(path).split("/")[0] == ".."


def _place(name: str) -> PurePosixPath:
    return PurePosixPath(posixpath.normpath(name))
