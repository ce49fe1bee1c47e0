"""fsspec's file systems: one a store and process, with its names and its limits."""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import fsspec

from audioloom_storage.errors import UnsafePath, not_installed
from audioloom_storage.location import Location
from audioloom_storage.objects.errors import translated, without_account
from audioloom_storage.remote import retry as remote
from audioloom_storage.remote.retry import T

WEB = ("http", "https")
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0


class Connection(remote.Connection[Any]):
    """The file system of this process for one bucket, container or host."""

    def __init__(self, location: Location) -> None:
        super().__init__()
        self._filesystem = _filesystem(location)
        self.proved: set[str] = set()
        """The requests that are proved not to replace an object."""
        self.folders: set[str] = set()
        """Folders that have a marker: those that this process writes to."""

    def attempt(
        self,
        location: Location,
        ask: Callable[[Any], T],
        *,
        looking: bool = False,
    ) -> T:
        """Ask the file system once; a store has no parents that could be files."""
        try:
            return ask(self._filesystem)
        except Exception as error:
            raise translated(error, location) from error


_KNOWN: dict[tuple[int, str, str], Connection] = {}


def connection_to(location: Location) -> Connection:
    """Return the connection of this process; a fork makes its own."""
    key = (os.getpid(), location.scheme, location.authority)
    found = _KNOWN.get(key)
    return found or _KNOWN.setdefault(key, Connection(location))


def path_of(location: Location) -> str:
    """The name of a location for its file system: a URL for the web, else bucket and key."""
    if location.scheme in WEB:
        return f"{location.scheme}://{location.authority}{quote(location.path)}"
    container = location.authority.partition("@")[0]
    return container if location.path == "/" else f"{container}{location.path}"


def below(folder: Location) -> str:
    """The start of all names below a folder."""
    return path_of(folder).rstrip("/") + "/"


def child_of(folder: Location, path: str) -> Location:
    """The location of a name in the listing of a folder; UnsafePath if no file can have it."""
    above = below(folder)
    name = path.removeprefix(above).removesuffix("/")
    if folder.scheme in WEB:
        name = unquote(name)
    if not path.startswith(above) or "/" in name or name in ("", ".", ".."):
        raise UnsafePath(
            "this key is no path: it has an empty part, '.' or '..'",
            where=folder,
            expected="keys of names joined by single slashes",
            hint=f"Rename {ascii(path)[:200]}, or choose a folder without it.",
        )
    return folder.child(name)


def _filesystem(location: Location) -> Any:
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    try:
        kind = fsspec.get_filesystem_class(location.scheme)
        return kind(**options, **_options(location))
    except ImportError as error:
        raise not_installed(location, f"of fsspec ({error})") from error
    except ValueError as error:  # adlfs, before it asks anybody
        raise without_account(error, location) from error
    except Exception as error:
        raise translated(error, location) from error


def _options(location: Location) -> dict[str, Any]:
    if location.scheme == "s3":
        limits = {"connect_timeout": CONNECT_SECONDS, "read_timeout": ANSWER_SECONDS}
        return {"config_kwargs": {**limits, "retries": {"mode": "standard", "max_attempts": 2}}}
    if location.scheme in WEB:
        import aiohttp  # noqa: PLC0415 - comes with fsspec[http]

        limit = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        return {"encoded": True, "simple_links": False, "client_kwargs": {"timeout": limit}}
    if location.scheme == "abfs" and "@" in location.authority:
        account = location.authority.partition("@")[2].partition(".")[0]
        return {"account_name": account}
    return {}
