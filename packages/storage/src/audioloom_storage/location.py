"""Where something lies: a storage, and a path in it that cannot climb out."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes

from audioloom_storage.errors import UnsafePath, UnsupportedScheme

SCHEMES = ("file", "hdfs", "webhdfs")

_URI = re.compile(
    r"""(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>.*)""", re.DOTALL
)
_JAVA_FILE = re.compile(r"\Afile:(?=/(?!/))")  # java.io.File and Hadoop write file:/a
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_UNSAFE_SEGMENT = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)")
_SLASHES = re.compile(r"/(?:\.?/)*")
_UNDECODABLE = re.compile("[\ud800-\udfff]")
# Written as %XX: what would end a URI early, and what would break a line, hide or reorder text on a terminal.
# Spaces and the letters of every script stay readable, as Hadoop writes them.
_UNPRINTABLE = "\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff"
_ESCAPED_IN_URI = re.compile(f"[%#?{_UNPRINTABLE}]")
_NOT_PLAIN = re.compile(f"[{_UNPRINTABLE}]")


@dataclass(frozen=True, order=True, slots=True)
class Location:
    """A place on a storage: every instance is absolute, has no "." or "..", and no trailing slash.

    Args:
        scheme: "file", "hdfs" or "webhdfs".
        authority: "" for file, else a host with or without port, or a name service ("" is the cluster's default).
        path: absolute POSIX path. Undecodable bytes of a local name are kept as Python does (surrogateescape).

    Raises:
        UnsafePath: the path is not of that form.
        UnsupportedScheme: the scheme is none of the three.
    """

    scheme: str
    authority: str
    path: str

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise UnsupportedScheme(f"{self.scheme}:// is not a storage known here", expected=f"one of {known}")
        if self.authority and (self.scheme == "file" or not _AUTHORITY.fullmatch(self.authority)):
            # The text is not repeated: what stands before an "@" is often a password.
            expected = "file:///path" if self.scheme == "file" else f"{self.scheme}://host:port/path, no user or password"
            raise UnsafePath(f"the {self.scheme}:// URI names a host that is not allowed", expected=expected)
        _check_path(self.path, self.scheme)

    @property
    def uri(self) -> str:
        """The location as manifests store it: one line, `locate` reads it back exactly."""
        return f"{self.scheme}://{self.authority}{_ESCAPED_IN_URI.sub(_percent, self.path)}"

    def __str__(self) -> str:
        """The location as people see it: a plain path for file, the URI otherwise.

        A path that cannot be printed on one line is shown as its URI too, so that printing never fails
        and `locate(str(location)) == location` holds for every location.
        """
        if self.scheme == "file" and not _NOT_PLAIN.search(self.path):
            return self.path
        return self.uri

    def __truediv__(self, relative: str) -> Location:
        """The location below this one.

        Args:
            relative: one or more names joined by "/", as a manifest holds them.

        Raises:
            UnsafePath: it is empty, absolute, or holds "..", ".", "//", a backslash or NUL.
        """
        _check_relative(relative)
        return self.child(relative)

    def child(self, name: str) -> Location:
        r"""As `/`, for names that a listing of this folder gave: these may hold a backslash."""
        joined = f"/{name}" if self.path == "/" else f"{self.path}/{name}"
        return Location(self.scheme, self.authority, joined)

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The folder it lies in; the root is its own parent."""
        return Location(self.scheme, self.authority, self.path.rpartition("/")[0] or "/")

    def is_under(self, other: Location) -> bool:
        """Whether it lies anywhere below `other`. A location is not under itself."""
        if (self.scheme, self.authority) != (other.scheme, other.authority) or self == other:
            return False
        return other.path == "/" or self.path.startswith(other.path + "/")

    def relative_to(self, other: Location) -> str:
        """The path from `other` down to here: `other / location.relative_to(other) == location`.

        Raises:
            UnsafePath: it does not lie under `other`.
        """
        if not self.is_under(other):
            raise UnsafePath("does not lie under that folder", where=self, expected=f"a location under {other}")
        return self.path[len(other.path.rstrip("/")) + 1 :]


def locate(text: str | Location | os.PathLike[str]) -> Location:
    """Read a location as a user or a manifest writes it.

    Plain paths become absolute file locations: relative ones start at the working directory, "~/" at the home
    directory, and ".." is resolved as the file system resolves it, links included. In a URI %XX is decoded, once,
    before anything is checked.

    Raises:
        UnsafePath: empty, or a URI with "..", credentials, or bytes that no path can hold.
        UnsupportedScheme: a scheme other than file, hdfs, webhdfs.
    """
    if isinstance(text, Location):
        return text
    if not isinstance(text, str):
        return _local(os.fspath(text))
    parts = _URI.fullmatch(_JAVA_FILE.sub("file://", text, count=1))
    if parts is None:
        at_home = text == "~" or text.startswith("~/")
        return _local(os.path.expanduser(text) if at_home else text)
    scheme, authority, path = parts["scheme"].lower(), parts["authority"] or "", parts["path"]
    if scheme == "file" and authority == "localhost":
        authority = ""
    if "%" in path:
        path = unquote_to_bytes(path).decode("utf-8", "surrogateescape")
    return Location(scheme, authority, _SLASHES.sub("/", path).rstrip("/") or "/")


def _local(text: str) -> Location:
    if not text:
        raise UnsafePath("an empty path names nothing", expected="a path, or a URI such as hdfs://namenode/data")
    _check_text(text)
    absolute = os.path.join(os.getcwd(), text)
    segments = absolute.split("/")
    if ".." in segments:
        # Only the file system knows what ".." means after a symbolic link.
        last = len(segments) - segments[::-1].index("..")
        absolute = "/".join([os.path.realpath("/".join(segments[:last])), *segments[last:]])
    return Location("file", "", os.path.normpath("/" + absolute.lstrip("/")))


def _check_path(path: str, scheme: str) -> None:
    if not path.startswith("/"):
        raise UnsafePath("the path is not absolute", where=repr(path), expected="a path that starts with /")
    if path != "/" and _UNSAFE_SEGMENT.search(path[1:]):
        raise UnsafePath(
            'the path holds "..", "." or an empty part', where=repr(path), expected="plain names between slashes"
        )
    _check_text(path)
    if scheme != "file" and not path.isascii() and _UNDECODABLE.search(path):
        raise UnsafePath("the name is not UTF-8", where=ascii(path), expected=f"UTF-8, as {scheme}:// keeps names")


def _check_relative(relative: str) -> None:
    if not relative or relative.startswith("/") or "\\" in relative or _UNSAFE_SEGMENT.search(relative):
        raise UnsafePath(
            "this is not a path below a folder",
            where=repr(relative),
            expected='names joined by "/", without "..", ".", "//", a leading or trailing slash, or a backslash',
        )


def _check_text(text: str) -> None:
    if "\0" in text:
        raise UnsafePath("the path holds a NUL byte", where=repr(text), expected="a path without NUL")
    if text.isascii():
        return
    try:
        canonical = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        canonical = None
    if canonical != text:
        raise UnsafePath("these are not the bytes of any path", where=ascii(text), expected="text, or a path Python gave")


def _percent(character: re.Match[str]) -> str:
    return quote_from_bytes(character[0].encode("utf-8", "surrogateescape"), safe="")
