"""A location: a storage, and a path in it that cannot climb out."""

# No pathlib: it drops what a URI keeps, and holds nothing but local paths.
# ruff: noqa: PTH109, PTH111

import os
import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes

from audioloom_storage.errors import NotFound, UnsafePath, UnsupportedScheme

FILE_SCHEMES = ("file", "hdfs", "webhdfs")
"""Storages with folders, permissions and an atomic rename."""

OBJECT_SCHEMES = ("s3", "gs", "abfs", "http", "https")
"""Storages that fsspec reads; audioloom writes to those that refuse to replace an object."""

SCHEMES = (*FILE_SCHEMES, *OBJECT_SCHEMES)

_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs"}
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_JAVA_URI = re.compile(r"\A(file|hdfs|webhdfs):(?=/(?!/))", re.IGNORECASE)  # as Java writes file:/a
_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_AUTHORITY = re.compile(_HOST)
_AUTHORITIES = {
    "file": re.compile(""),
    "hdfs": re.compile(f"(?:{_HOST})?"),
    "webhdfs": re.compile(f"(?:{_HOST})?"),
    "abfs": re.compile(rf"{_HOST}|[a-z0-9$-]+@[a-z0-9]+\.(?:dfs|blob)\.core\.windows\.net"),
}
_SLASHES = re.compile(r"/(?:\.?/|\.\Z)*")
_UNSAFE_PART = re.compile(r"/\.{0,2}(?:/|\Z)")  # looked for in text that starts with a slash
_UNDECODABLE = re.compile("[\ud800-\udfff]")
# Characters that break a line, or hide or reorder text on a terminal, or are no characters at all.
# Spaces and the letters of every script stay readable in a URI, as Hadoop writes them.
_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
_NOT_PLAIN = re.compile(f"[{_UNPRINTABLE}]")
_ESCAPED_IN_URI = re.compile(f"[%#?{_UNPRINTABLE}]")


@dataclass(frozen=True, order=True, slots=True)
class Location:
    """A place on a storage: always absolute, without "." or "..", without a trailing slash.

    Args:
        scheme: one of `SCHEMES`.
        authority: "" for file; a host, host:port or name service for hdfs, "" for the cluster's
            own; a bucket for s3 and gs; a container for abfs, with its account or without.
        path: absolute POSIX path. Bytes of a local name that are no UTF-8 are kept as in Python
        (surrogateescape).

    Raises:
        UnsafePath: authority or path are not of that form.
        UnsupportedScheme: the scheme is none of these.
    """

    scheme: str
    authority: str
    path: str

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise UnsupportedScheme(
                f"{self.scheme}:// is no storage known here", expected=f"a path, or one of {known}"
            )
        if _AUTHORITIES.get(self.scheme, _AUTHORITY).fullmatch(self.authority) is None:
            # The authority is not repeated: the text before an "@" may be a password.
            form = _FORMS.get(self.scheme, "host:port/path without a user")
            found = f"this {self.scheme}:// URI names its host in a way not known"
            raise UnsafePath(found, expected=f"{self.scheme}://{form}")
        _check_path(self.scheme, self.path)

    @property
    def uri(self) -> str:
        """The location as manifests store it: one line, which `locate` reads back exactly."""
        return f"{self.scheme}://{self.authority}{_ESCAPED_IN_URI.sub(_percent, self.path)}"

    def __str__(self) -> str:
        """The location as people see it: a plain path for file, the URI otherwise.

        A path that cannot be shown on one line is given as its URI too: printing it never fails,
        and `locate(str(location)) == location` holds for every location.
        """
        if self.scheme == "file" and not _NOT_PLAIN.search(self.path):
            return self.path
        return self.uri

    def __truediv__(self, relative: str) -> "Location":
        r"""Return a location below this one. The relative path may come from outside.

        Raises:
            UnsafePath: the path is empty or absolute, or holds "..", ".", "//", a backslash or NUL.
        """
        if "\\" in relative or _UNSAFE_PART.search(f"/{relative}"):
            raise UnsafePath(
                "this is no path below a folder",
                where=ascii(relative),
                expected='names joined by "/", none of them empty, "." or "..", and no backslash',
            )
        return self.child(relative)

    def child(self, name: str) -> "Location":
        """Return the location of a listed name; unlike `/`, a local name may hold a backslash."""
        joined = f"/{name}" if self.path == "/" else f"{self.path}/{name}"
        return Location(self.scheme, self.authority, joined)

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "Location":
        """The folder that holds this location; the root is its own parent."""
        return Location(self.scheme, self.authority, self.path.rpartition("/")[0] or "/")

    def is_under(self, other: "Location") -> bool:
        """Return whether this location lies anywhere below `other`. Nothing lies under itself."""
        if (self.scheme, self.authority) != (other.scheme, other.authority) or self == other:
            return False
        return self.path.startswith(other.path.rstrip("/") + "/")

    def relative_to(self, other: "Location") -> str:
        """Return the path from `other` to this location, the inverse of `other.child(…)`.

        Raises:
            UnsafePath: this location does not lie under `other`.
        """
        if not self.is_under(other):
            raise UnsafePath("it lies elsewhere", where=self, expected=f"a path under {other}")
        return self.path[len(other.path.rstrip("/")) + 1 :]


def locate(text: str | Location | os.PathLike[str]) -> Location:
    """Parse a location as a user or a manifest writes it.

    Plain paths become absolute file locations: relative ones start at the working directory, "~/"
    at the home directory, and ".." is resolved as the file system does, links included. In a URI
    %XX is decoded, once, before anything is checked; a % that starts no such code stays.

    Raises:
        UnsafePath: empty, or a URI with "..", a user, a password or the signature of a store, or
            what no path can hold.
        UnsupportedScheme: a scheme that is not among `SCHEMES`.
        NotFound: a relative path, and the working directory is gone.
    """
    if isinstance(text, Location):
        return text
    if not isinstance(text, str):
        return _local(os.fspath(text))
    parts = _URI.fullmatch(_JAVA_URI.sub(r"\1://", text))
    if parts is None:
        at_home = text == "~" or text.startswith("~/")
        return _local(os.path.expanduser(text) if at_home else text)
    scheme, authority, path = parts[1].lower(), parts[2], parts[3]
    scheme = _ALIASES.get(scheme, scheme)
    if (scheme in _WEB and ("?" in path or "#" in path)) or (
        scheme in OBJECT_SCHEMES and _SIGNATURE.search(path)
    ):
        raise UnsafePath(
            "this URL has a query or a fragment, which may hold a key and would be recorded",
            expected=f"{scheme}://{_FORMS.get(scheme, 'host/path')}; %3F for a question mark in a"
            " name",
        )
    if scheme == "file" and authority == "localhost":
        authority = ""
    _check_text(path)
    if "%" in path:
        decoded = unquote_to_bytes(path.encode("utf-8", "surrogateescape"))
        path = decoded.decode("utf-8", "surrogateescape")
    return Location(scheme, authority, _SLASHES.sub("/", path).rstrip("/") or "/")


_WEB = ("http", "https")
_SIGNATURE = re.compile(r"\?(?:[^?]*&)?(?:X-Amz-|X-Goog-)?(?:sig|signature)=", re.IGNORECASE)
_FORMS = {
    "file": "/path",
    "s3": "bucket/path",
    "gs": "bucket/path",
    "abfs": "container@account.dfs.core.windows.net/path",
}


def _local(text: str) -> Location:
    if not text:
        raise UnsafePath("an empty path", expected="a path, or a URI such as hdfs://namenode/data")
    _check_text(text)
    try:
        absolute = text if text.startswith("/") else f"{os.getcwd()}/{text}"
    except FileNotFoundError:
        raise NotFound(
            "the working directory is gone, and the path starts there",
            where=text,
            hint="Change to a folder that exists, or give an absolute path.",
        ) from None
    parts = absolute.split("/")
    if ".." in parts:
        # Only the file system knows what ".." means after a symbolic link.
        after = len(parts) - parts[::-1].index("..")
        absolute = "/".join([os.path.realpath("/".join(parts[:after])), *parts[after:]])
    return Location("file", "", os.path.normpath("/" + absolute.lstrip("/")))


def _check_path(scheme: str, path: str) -> None:
    if not path.startswith("/") or (path != "/" and _UNSAFE_PART.search(path)):
        raise UnsafePath(
            "this path is not absolute, or not plain",
            where=ascii(path),
            expected='one that starts with "/" and holds no "..", ".", "//" or trailing slash',
        )
    _check_text(path)
    if scheme != "file" and not path.isascii() and _UNDECODABLE.search(path):
        raise UnsafePath("this path is not UTF-8", where=ascii(path), expected="UTF-8 in names")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise UnsafePath("the path holds a NUL byte", where=ascii(text), expected="none")
    if text.isascii():
        return
    try:
        canonical = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        canonical = ""
    if canonical != text:
        raise UnsafePath("these are the bytes of no path", where=ascii(text), expected="text")


def _percent(character: re.Match[str]) -> str:
    return quote_from_bytes(character[0].encode("utf-8", "surrogateescape"), safe="")
