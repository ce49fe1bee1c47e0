"""A storage in memory that behaves as HDFS does, and commits by the same code.

While it is installed it stands in for every storage of the process, whatever the scheme. What a
NameNode does in one request is done here in one go; `pause` is called before each rename and look.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from audioloom_storage.backend.protocol import Backend, Entry
from audioloom_storage.backend.staged_sink import StagedBackend
from audioloom_storage.errors import (
    IsAFolder,
    NotAFolder,
    NotFound,
    Unavailable,
    taken,
)
from audioloom_storage.location import Location
from audioloom_storage.remote.backend import commit
from audioloom_storage.remote.retry import Outage, Retry

from audioloom_storage_testing.stand_in import StandIn

Loss = Literal["", "request", "answer"]
_TRIES = 3
_ME = "me"


@dataclass
class _File:
    mode: int
    modified_ns: int
    data: bytearray = field(default_factory=bytearray)


class MemoryStore(StagedBackend, StandIn):
    """Files and folders of this process alone.

    Args:
        pause: called with what and where before the requests of a commit, which are no steps.
        lose: asked at each rename whether the request or its answer is lost.
    """

    replaces = False
    """Whether a rename breaks its promise, and replaces what is there."""

    def __init__(
        self,
        pause: Callable[[str, Location], None] = lambda _what, _where: None,
        lose: Callable[[], Loss] = lambda: "",
    ) -> None:
        self._pause = pause
        self._lose = lose
        self._files: dict[Location, _File] = {}
        self._folders: dict[Location, int] = {}

    def between(self, backend: Backend) -> Backend:
        """This one, whatever the storage."""
        del backend
        return self

    def peek(self, location: Location) -> bytes | None:
        """The bytes of a file, without a request; None where there is none."""
        found = self._files.get(location)
        return None if found is None else bytes(found.data)

    def stat(self, location: Location) -> Entry:
        """One entry."""
        if self._is_folder(location):
            mode = self._folders.get(location, 0o755)
            return Entry(location, 0, 0, is_folder=True, mode=mode, owner=_ME)
        found = self._file(location)
        size, modified_ns = len(found.data), found.modified_ns
        return Entry(location, size, modified_ns, is_folder=False, mode=found.mode, owner=_ME)

    def lstat(self, location: Location) -> Entry:
        """One entry: there are no links."""
        return self.stat(location)

    def user(self, location: Location) -> str:
        """Nobody else is there to hold anything."""
        del location
        return _ME

    def set_permissions(self, location: Location, mode: int) -> None:
        """Nobody else is there to refuse it to."""
        if self._is_folder(location):
            self._folders[location] = mode
        else:
            self._file(location).mode = mode

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """As the folder was at the request."""
        if location in self._files:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        if not self._is_folder(location):
            raise _nothing(location)
        names = (*self._files, *self._folders)
        return iter([self.stat(each) for each in sorted(names) if each.parent == location])

    def folder_identity(self, location: Location) -> Hashable:
        """The path: there are no links."""
        return location

    def open_read(self, location: Location) -> BinaryIO:
        """The bytes as they are now."""
        if self._is_folder(location):
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        return io.BytesIO(bytes(self._file(location).data))

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        """By the commit of HDFS."""
        commit(temporary, target, size, self.rename, self._look, _Prompt())

    def start(
        self,
        temporary: Location,
        *,
        private: bool,
        replication: int | None,  # noqa: ARG002
    ) -> _MemoryWriter:
        """In a folder that is there."""
        if not self._is_folder(temporary.parent):
            raise _nothing(temporary.parent)
        self._refuse_taken(temporary)
        self._files[temporary] = _File(0o600 if private else 0o644, time.time_ns())
        return _MemoryWriter(self._files, temporary)

    def rename(self, temporary: Location, target: Location) -> None:
        """Once, without replacing: what a NameNode does, and perhaps nobody hears of."""
        self._pause("rename", target)
        lost = self._lose()
        if lost == "request":
            raise Outage("the request was lost", where=target)
        if temporary not in self._files:
            raise _nothing(temporary)
        if not self.replaces:
            self._refuse_taken(target)
        self._files[target] = self._files.pop(temporary)
        if lost == "answer":
            raise Outage("the answer was lost", where=target)

    def make_folder(self, location: Location, *, private: bool) -> None:
        """With its parents."""
        made = location
        while made.path != "/":
            if made in self._files:
                raise NotAFolder("no folder lies there", where=made)
            self._folders.setdefault(made, 0o700 if private and made == location else 0o755)
            made = made.parent

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        """For good; there are no links."""
        del within
        if self._is_folder(location):
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        if self._files.pop(location, None) is None:
            raise _nothing(location)

    def remove_empty_folder(self, location: Location, *, within: Location | None = None) -> bool:
        """In one request; there are no links."""
        del within
        if location in self._files:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        if any(each.is_under(location) for each in (*self._files, *self._folders)):
            return False
        return self._folders.pop(location, None) is not None

    def _look(self, location: Location) -> Entry:
        self._pause("look", location)
        return self.stat(location)

    def _is_folder(self, location: Location) -> bool:
        return location in self._folders or location.path == "/"

    def _file(self, location: Location) -> _File:
        try:
            return self._files[location]
        except KeyError:
            raise _nothing(location) from None

    def _refuse_taken(self, location: Location) -> None:
        if (is_folder := self._is_folder(location)) or location in self._files:
            raise taken(location, is_folder=is_folder)


class _MemoryWriter:
    """A file that is written; when it was removed meanwhile it cannot be closed, as on HDFS."""

    def __init__(self, files: dict[Location, _File], location: Location) -> None:
        self._files, self._location = files, location
        self._file = files[location]

    def write(self, data: memoryview) -> int:
        self._file.data += data
        self._file.modified_ns = time.time_ns()
        return len(data)

    def finish(self) -> None:
        if self._files.get(self._location) is not self._file:
            raise Unavailable("the file was removed while it was written", where=self._location)

    def abandon(self) -> None:
        return


class _Prompt(Retry):
    """Repeats a few times at once, and waits for nothing."""

    def pauses(self) -> Iterator[float]:
        """As many as there are tries after the first."""
        return iter([0.0] * (_TRIES - 1))


def _nothing(location: Location) -> NotFound:
    return NotFound("nothing lies there", where=location)
