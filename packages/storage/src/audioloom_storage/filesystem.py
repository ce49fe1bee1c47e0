"""File systems of fsspec for reading, so that pandas and pyarrow read what audioloom reads.

There is one for each scheme, `audioloom+hdfs` for `hdfs`. Installed together with fsspec, they are
known to it: `fsspec.open("audioloom+hdfs://namenode:8020/a")`.
"""

# fsspec chose the names and the order of the arguments, and callers give some of them by position.
# ruff: noqa: FBT001, FBT002

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, NoReturn

from fsspec import AbstractFileSystem

from audioloom_storage.backend.protocol import Entry
from audioloom_storage.errors import NotAFolder, NotFound, UnsafePath
from audioloom_storage.location import Location, locate
from audioloom_storage.read import exists, leads_back, list_folder, open_read, stat

_PREFIX = "audioloom+"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

Info = dict[str, Any]
OnError = str | Callable[[OSError], object]


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, NotFound):
        raise error


class AudioloomFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The files of one scheme, to read and not to change; the base of the classes below.

    A URL is the URI of a location after "audioloom+", with %XX decoded as in every URI here. A name
    without "://", as fsspec keeps and lists them, is authority and path as they are: a % in it is
    a letter. Bytes of a local name that are no UTF-8 are surrogates in a name, and %XX in a URL.

    There are no options: a storage is configured as everywhere in audioloom. Nothing is remembered
    between two calls, and the storages make a connection for each process: an instance may be
    pickled, and used on both sides of a fork.
    """

    protocol = "abstract"

    def __init__(self, **options: object) -> None:
        if options:
            raise TypeError(
                f"{self.protocol}:// takes no options (found {', '.join(options)}): its storage is"
                " configured as everywhere in audioloom, by HADOOP_CONF_DIR or the store's"
                " own variables"
            )
        super().__init__()

    @classmethod
    def _locate(cls, path: str | Location | os.PathLike[str]) -> Location:
        scheme = cls.protocol.removeprefix(_PREFIX)
        text = path if isinstance(path, Location) else os.fspath(path)
        if isinstance(text, str) and _URL.match(text):
            found = locate(text.removeprefix(_PREFIX))
        elif isinstance(text, Location) or scheme == "file":
            found = locate(text)
        else:
            authority, _, names = text.partition("/")
            plain = "/".join(name for name in names.split("/") if name not in ("", "."))
            found = Location(scheme, authority, f"/{plain}")
        if found.scheme != scheme:
            raise UnsafePath(
                f"it lies on {found.scheme}://", where=found, expected=f"a place on {scheme}://"
            )
        return found

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return _name(cls._locate(path))

    @classmethod
    def _parent(cls, path: str) -> str:
        return _name(cls._locate(path).parent)

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a name; it is read back exactly."""
        location = self._locate(name)
        host = f"{location.scheme}://{location.authority}"
        path = location.uri.removeprefix(host).replace("::", "%3A%3A")  # fsspec joins URLs by "::"
        return f"{_PREFIX}{host}{path}"

    def info(self, path: str, **_: object) -> Info:
        """Describe an entry: name, size, type, time of the last change (mtime), islink."""
        return _info(stat(self._locate(path)))

    def ls(self, path: str, detail: bool = True, top: str | None = None, **_: object) -> list[Any]:
        """List a folder, sorted by name, unfinished files included; a file lists itself.

        Nothing is listed where a link leads back into a folder on the way from the *top* of a walk.
        """
        folder = self._locate(path)
        if top is not None and leads_back(folder, self._locate(top)):
            return []
        try:
            found = list(list_folder(folder))
        except NotAFolder:
            found = [stat(folder)]
        return [_info(each) if detail else _name(each.location) for each in found]

    def exists(self, path: str, **_: object) -> bool:
        """Return whether anything lies there; an error of the storage is no answer."""
        return exists(self._locate(path))

    def isfile(self, path: str) -> bool:
        """Return whether a file lies there; an error of the storage is no answer."""
        return self._is_folder(path) is False

    def isdir(self, path: str) -> bool:
        """Return whether a folder lies there; an error of the storage is no answer."""
        return self._is_folder(path) is True

    def _is_folder(self, path: str) -> bool | None:
        try:
            return stat(self._locate(path)).is_folder
        except NotFound:
            return None

    def modified(self, path: str) -> datetime:
        """Return the time of the last change, in UTC."""
        entry = stat(self._locate(path))
        if not entry.modified_ns:
            raise NotImplementedError(f"{entry.location}: the storage tells no time of it")
        return datetime.fromtimestamp(entry.modified_ns / 1e9, UTC)

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: OnError | None = None,
        *,
        otherwise: OnError = _raise_unless_missing,
        **options: Any,
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name of each folder, the folders in it and the files in it, as fsspec does.

        A folder that may not be listed is an error, here and in `find` and `glob`, because without
        it a table would look complete. fsspec's own walk leaves such a folder out, as this one does
        with "omit". Links are followed, but not in circles.
        """
        told = on_error or otherwise  # below the first folder fsspec passes on only what it ignores
        more = {"top": path, "otherwise": told, **options}
        yield from super().walk(path, maxdepth, topdown, told, **more)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        """Return the bytes of a file from *start* to *end*, as of a slice."""
        with self._open(path) as file:
            first, last, _step = slice(start, end).indices(file.seek(0, io.SEEK_END))
            file.seek(first)
            return file.read(max(0, last - first))

    def _open(self, path: str, mode: str = "rb", **_: object) -> BinaryIO:
        if mode != "rb":
            self._refuse()
        file = open_read(self._locate(path))
        # fsspec and dask ask a file for its size. No storage makes a request for such a seek.
        file.size = file.seek(0, io.SEEK_END)  # type: ignore[attr-defined]
        file.seek(0)
        return file

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise io.UnsupportedOperation(
            f"{self.protocol}:// is read-only, because fsspec's writers replace files. Write with"
            " audioloom_storage.create or .publish, make folders with .make_folder, remove with"
            " .remove"
        )

    # All of them, also those that call others: some list or read first, and mkdir does nothing.
    touch = pipe = pipe_file = write_text = put = put_file = _refuse
    mkdir = makedirs = rmdir = rm = rm_file = _rm = _refuse
    copy = cp_file = mv = _refuse


def _name(location: Location) -> str:
    name = location.authority + location.path
    return name.rstrip("/") if location.authority else name


def _info(entry: Entry) -> Info:
    return {
        "name": _name(entry.location),
        "size": entry.size,
        "type": "directory" if entry.is_folder else "file",
        "mtime": entry.modified_ns / 1e9 if entry.modified_ns else None,
        "islink": entry.is_link,
    }


def _of(scheme: str, about: str) -> type[AudioloomFileSystem]:
    members = {"protocol": _PREFIX + scheme, "__doc__": about, "__module__": __name__}
    return type(f"Audioloom{scheme.title()}", (AudioloomFileSystem,), members)


AudioloomFile = _of("file", "Local files; their names are paths.")
AudioloomHdfs = _of("hdfs", "HDFS; names are `namenode:8020/a`, or `/a` on the cluster's own.")
AudioloomWebhdfs = _of("webhdfs", "HDFS by the NameNode's page; names are `namenode:9870/a`.")
AudioloomS3 = _of("s3", "S3; names are `bucket/a`.")
AudioloomGs = _of("gs", "Google Cloud Storage; names are `bucket/a`.")
AudioloomAbfs = _of(
    "abfs", "Azure; names are `container/a` or `container@account.dfs.core.windows.net/a`."
)
AudioloomHttp = _of("http", "A web server; names are `host/a`.")
AudioloomHttps = _of("https", "A web server with encryption; names are `host/a`.")
