"""Read object stores and web servers: a prefix, or a page of links, is a folder."""

import re
from collections.abc import Hashable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, BinaryIO, NoReturn

from audioloom_storage.backend.protocol import Backend, Entry
from audioloom_storage.errors import IsAFolder, NotAFolder, NotConfigured, NotFound, Unavailable
from audioloom_storage.location import Location
from audioloom_storage.objects.connection import WEB, below, child_of, connection_to, path_of
from audioloom_storage.remote.range_reader import open_ranges
from audioloom_storage.remote.retry import Outage

_PIECE_BYTES = 8 << 20
_FILE_MODE, _FOLDER_MODE = 0o600, 0o700  # the account decides, and nobody else by default
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "Last-Modified")


class Objects(Backend):
    """A `Backend` for reading; see `objects.s3` for writing.

    A folder is a prefix of keys, which may be that of a file as well. Times are whole seconds,
    because a store tells more in a listing than elsewhere; 0 where a web server tells none.
    """

    def stat(self, location: Location) -> Entry:
        """Describe one entry."""
        path = path_of(location)
        found = connection_to(location).call(location, lambda filesystem: filesystem.info(path))
        return _entry(location, found)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """List a folder; a web server is asked for the size of each file in turn."""
        if location.scheme in WEB and not self.stat(location).is_folder:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        path, read = path_of(location), _links if location.scheme in WEB else _keys
        listed = connection_to(location).call(location, partial(read, path=path))
        files = {each["name"] for each in listed if each["type"] != "directory"}
        if path in files:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        marker = below(location)
        found = [
            (child_of(location, each["name"]), each)
            for each in listed
            if each["name"] != marker or each["type"] == "directory"
        ]
        return self._entries(sorted(found, key=lambda pair: pair[0].name))

    def _entries(self, found: list[tuple[Location, dict[str, Any]]]) -> Iterator[Entry]:
        for child, each in found:
            try:
                entry = _entry(child, each) if "size" in each else self.stat(child)
            except NotFound:  # removed since the names were read
                continue
            yield entry

    def folder_identity(self, location: Location) -> Hashable:
        """The location: there are no links."""
        return location

    def open_read(self, location: Location) -> BinaryIO:
        """Read by ranges, each a request of its own."""
        entry = self.stat(location)
        if entry.is_folder:
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        path, read = path_of(location), _read_web if location.scheme in WEB else _read_object

        def open_range(offset: int, count: int) -> Iterator[bytes]:
            connection = connection_to(location)  # of this process, which may be a fork
            for start in range(offset, offset + count, _PIECE_BYTES):
                end = min(start + _PIECE_BYTES, offset + count)
                ask = partial(read, path=path, start=start, end=end, size=entry.size)
                data = connection.attempt(location, ask)
                if len(data) != end - start:
                    raise Outage(
                        f"an answer of {len(data)} bytes",
                        where=location,
                        expected=f"the {end - start} bytes from byte {start} on",
                        hint="Was the object replaced? Run again.",
                    )
                yield data

        return open_ranges(location, entry.size, open_range, connection_to(location).retry)

    def _no_permissions(self, location: Location, *_: object, **__: object) -> NoReturn:
        raise NotConfigured(
            "an object has neither owner nor permissions: the policies of the account decide",
            where=location,
            expected="a place on file:// or hdfs://",
        )

    lstat = user = set_permissions = _no_permissions


class ReadOnly(Objects):
    """A store of which no request is proved to replace nothing."""

    def _refuse(self, location: Location, *_: object, **__: object) -> NoReturn:
        raise NotConfigured(
            f"{location.scheme}:// is only read here, because no request is proved to replace"
            " nothing",
            where=location,
            expected="a place on file://, hdfs://, webhdfs:// or s3://",
        )

    create = make_folder = remove = remove_empty_folder = _refuse


def _entry(location: Location, found: dict[str, Any]) -> Entry:
    is_page = str(found.get("url", "")).partition("?")[0].endswith("/")  # after redirections
    if found["type"] == "directory" or is_page:
        return Entry(location, 0, 0, is_folder=True, mode=_FOLDER_MODE)
    if found["size"] is None:
        raise Unavailable(
            "the server does not say how large this file is",
            where=location,
            expected="a Content-Length",
            hint="Copy the file elsewhere.",
        )
    return Entry(location, found["size"], _modified_ns(found), is_folder=False, mode=_FILE_MODE)


def _modified_ns(found: dict[str, Any]) -> int:
    value: Any = next((found[name] for name in _TIMES if found.get(name)), None)
    if isinstance(value, str):
        for parse in (datetime.fromisoformat, parsedate_to_datetime):
            with suppress(ValueError):
                value = parse(value)
                break
    if not isinstance(value, datetime):
        return 0
    whole = value if value.tzinfo else value.replace(tzinfo=UTC)
    return int(whole.timestamp()) * 1_000_000_000


def _keys(filesystem: Any, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = filesystem.ls(path, detail=True)
    return found


def _links(filesystem: Any, path: str) -> list[dict[str, Any]]:
    page = path.rstrip("/") + "/"
    links = {link.rstrip("/") for link in filesystem.ls(page, detail=False)}
    # A page also links to other orders of its own, and to places elsewhere.
    inside = re.compile(re.escape(page) + r"[^/?#]+")
    return [{"name": link, "type": "file"} for link in links if inside.fullmatch(link)]


def _read_object(filesystem: Any, *, path: str, start: int, end: int, **_: object) -> bytes:
    data: bytes = filesystem.cat_file(path, start=start, end=end)
    return data


def _read_web(filesystem: Any, *, path: str, start: int, end: int, size: int) -> bytes:
    """Read a range of a URL; unlike `cat_file` this stops where a server ignores the range."""
    options = {"block_size": end - start, "cache_type": "none", "size": size}
    with filesystem.open(path, "rb", **options) as file:
        file.seek(start)
        data: bytes = file.read(end - start)
    return data


BACKEND: Backend = ReadOnly()
