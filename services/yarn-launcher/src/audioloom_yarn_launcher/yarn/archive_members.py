"""The members of an archive, and whether they stay in the folder that it is unpacked into.

A node unpacks archives as this user, with a Hadoop of any age. A name that leads out of the folder
writes there, and so may a name that passes through a link: the link may lead to another link, which
leads out. A link that no other name passes through is harmless: `bin/python` of a virtual
environment may be a link to the node's interpreter. An archive that tar makes of a folder has no
name that passes through a link.
"""

import posixpath
import tarfile
from collections.abc import Iterable
from pathlib import PurePosixPath


def first_fault(members: Iterable[tarfile.TarInfo]) -> str | None:
    """Describe the first member that must not be unpacked; None if all may be.

    The order is that of unpacking, and a name may occur more than once.
    """
    links: set[PurePosixPath] = set()
    for member in members:
        fault = _fault(member, links)
        if fault is not None:
            return f"{member.name!r} {fault}"
        if member.issym():
            links.add(_place(member.name))
    return None


def _fault(member: tarfile.TarInfo, links: set[PurePosixPath]) -> str | None:
    if _is_outside(member.name):
        return "leads out of the archive"
    through = _through(member.name, links)
    if through is not None:
        return f"lies below {str(through)!r}, which is a link"
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return "is neither a file, a folder nor a link"
    if _is_forbidden_link(member, links):
        kind = "hard link" if member.islnk() else "link"
        return f"is a {kind} to {member.linkname!r}, which leads or may lead out of the archive"
    if _place(member.name) in links and not member.issym():
        return "is written through a link of that name"
    return None


def _through(name: str, links: set[PurePosixPath]) -> PurePosixPath | None:
    """Return the first link that a name passes through, before ".." in the name is resolved."""
    parts = PurePosixPath(name).parts
    steps = (_place("/".join(parts[:count])) for count in range(1, len(parts)))
    return next((step for step in steps if step in links), None)


def _is_forbidden_link(member: tarfile.TarInfo, links: set[PurePosixPath]) -> bool:
    target = member.linkname
    if member.islnk():  # a hard link to a link is one more link
        is_link = _place(target) in links
        return _is_outside(target) or is_link or _through(target, links) is not None
    return member.issym() and not target.startswith("/") and _leads_out(member)


def _leads_out(link: tarfile.TarInfo) -> bool:
    return _is_outside(posixpath.join(posixpath.dirname(link.name), link.linkname))


def _is_outside(path: str) -> bool:
    return path.startswith("/") or posixpath.normpath(path).split("/")[0] == ".."


def _place(name: str) -> PurePosixPath:
    return PurePosixPath(posixpath.normpath(name))
