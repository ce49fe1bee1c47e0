"""Which files a scan looks at: folders, files, globs and chains, below one folder above them all.

A chain as fsspec writes it, `zip://calls/*.wav::s3://bucket/a.zip`, means members of containers.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import commonprefix

from audioloom_storage import Entry, Location, NotFound, locate, stat, walk
from fsspec.utils import glob_translate

from audioloom_featurizer.containers.formats import SUFFIXES, container_suffix
from audioloom_featurizer.errors import InvalidOption, NoRecordings

_MAGIC = re.compile(r"[*?[]")
_DEEPER = r"(?:/.*)?\Z"
_CHAIN = re.compile(r"(?:tar|zip)://(.*?)::(.+)", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """A source as it was given.

    Attributes:
        text: as it was given.
        base: the folder to walk, or a file.
        glob: of the paths below the base that are meant; None means all.
        members: of a chain, a glob of the members of the containers that are meant.
    """

    text: str
    base: Location
    glob: re.Pattern[str] | None = None
    members: re.Pattern[str] | None = None

    @cached_property
    def is_folder(self) -> bool:
        """Whether the base is a folder; raise `NoRecordings` if it does not exist."""
        try:
            return stat(self.base).is_folder
        except NotFound:
            raise _nothing(self.text, "no such file or folder") from None

    @property
    def folder(self) -> Location:
        """The base, or the folder that holds it if it is a file."""
        return self.base if self.is_folder else self.base.parent

    def holds(self, location: Location) -> bool:
        """Whether a file is meant."""
        if location == self.base:
            return self.glob is None
        if not location.is_under(self.base):
            return False
        return self.glob is None or self.glob.match(location.relative_to(self.base)) is not None


@dataclass(frozen=True)
class Selection:
    """The sources of a scan.

    Attributes:
        folder: the folder, or the container, that all paths of the inventory are relative to.
        sources: what to list of it.
    """

    folder: Location
    sources: tuple[Source, ...]

    @property
    def is_whole(self) -> bool:
        """Whether everything below the folder is meant."""
        return any(each.base == self.folder and each.glob is None for each in self.sources)

    @property
    def with_members(self) -> bool:
        """Whether containers are opened: one is the only source, or a source is a chain."""
        is_container = self.is_whole and not all(each.is_folder for each in self.sources)
        return is_container or any(each.members is not None for each in self.sources)

    def holds(self, file: Location) -> bool:
        """Whether a file below the folder is meant."""
        return bool(self._holding(file))

    def holds_member(self, container: Location, name: str) -> bool:
        """Whether a member of a container is meant."""
        return any(
            each.members is None or each.members.match(name) is not None
            for each in self._holding(container)
        )

    def files(self) -> Iterator[Entry]:
        """Walk the sources; each file comes once, whatever sources hold it.

        Raises:
            NoRecordings: after the last file, a glob matched none.
        """
        if self.is_whole and all(each.glob is None for each in self.sources):
            yield from self._below(self.folder)
            return
        found: set[str] = set()
        for base in self._bases():
            for entry in self._below(base):
                holding = [each.text for each in self._holding(entry.location)]
                found.update(holding)
                if holding:
                    yield entry
        for each in self.sources:
            if each.glob is not None and each.text not in found:
                raise _nothing(each.text, "no file that matches")

    def folders(self) -> list[str]:
        """The folders to list, relative to `folder`.

        Raises:
            InvalidOption: a source is a chain, a glob or a file.
        """
        for each in self.sources:
            if each.members or each.glob or not each.is_folder:
                raise InvalidOption(
                    "tasks list whole folders",
                    where=each.text,
                    expected="folders with --master",
                    found="a chain" if each.members else "a glob" if each.glob else "a file",
                    hint="Leave --master out: this process lists then.",
                )
        if self.is_whole:
            return [""]
        return [base.relative_to(self.folder) for base in self._bases()]

    @cached_property
    def _files(self) -> dict[Location, list[Source]]:
        """The sources whose base is a file: a shell makes thousands of them of one glob."""
        found: dict[Location, list[Source]] = {}
        for each in self.sources:
            if not each.is_folder:
                found.setdefault(each.base, []).append(each)
        return found

    @cached_property
    def _folders(self) -> list[Source]:
        return [each for each in self.sources if each.is_folder]

    def _holding(self, file: Location) -> list[Source]:
        """The sources that mean a file."""
        perhaps = [*self._files.get(file, ()), *self._folders]
        return [each for each in perhaps if each.holds(file)]

    def _below(self, base: Location) -> Iterator[Entry]:
        if base in self._files:
            return iter((stat(base),))
        return walk(base) if base == self.folder else walk(base, within=self.folder)

    def _bases(self) -> list[Location]:
        """The folders to walk, none inside another one."""
        found = {each.base for each in self.sources}
        bases: list[Location] = []
        # In this order what lies inside a folder follows it directly.
        for base in sorted(found, key=lambda each: each.path.rstrip("/") + "/"):
            if not bases or not base.is_under(bases[-1]):
                bases.append(base)
        return sorted(bases)


def select(texts: Sequence[str]) -> Selection:
    """Read the sources of a command line: paths, URIs, globs and chains.

    A local path that exists is no glob, whatever letters it has.

    Raises:
        InvalidOption: the sources lie on several storages, or a chain leads to another file than a
            container.
        NoRecordings: a source does not exist.
    """
    sources = tuple(map(_source, texts))
    storages = {(each.base.scheme, each.base.authority) for each in sources}
    if len(storages) > 1:
        raise InvalidOption(
            "the sources lie on several storages",
            where=" ".join(texts),
            expected="sources on one: paths of an inventory are relative to one folder",
            found=", ".join(sorted(f"{scheme}://{host}" for scheme, host in storages)),
            hint="Scan each and extract its features; the sharder takes several features.",
        )
    (scheme, authority), *_ = storages
    parts = [each.folder.path.rstrip("/").split("/") for each in sources]
    if len(sources) == 1 and not sources[0].is_folder and container_suffix(sources[0].base.name):
        return Selection(sources[0].base, sources)
    common = commonprefix(parts)  # of lists as of texts
    return Selection(Location(scheme, authority, "/".join(common) or "/"), sources)


def _source(text: str) -> Source:
    chain = _CHAIN.fullmatch(text)
    if chain is not None:
        return _chained(text, chain[1].strip("/"), _source(chain[2]))
    if not _MAGIC.search(text) or ("://" not in text and os.path.lexists(text)):
        return Source(text, locate(text))
    plain, magic = _split(text.rstrip("/"))
    return Source(text, locate(plain), _glob(magic))


def _chained(text: str, members: str, source: Source) -> Source:
    is_one = source.glob is None and not source.is_folder
    if source.members is not None or (is_one and container_suffix(source.base.name) is None):
        raise InvalidOption(
            "a chain leads to members of containers",
            where=text,
            expected=f"a file, folder or glob of containers ({', '.join(SUFFIXES)}) behind '::'",
            found="another chain" if source.members is not None else str(source.base),
        )
    return replace(source, text=text, members=_glob(members or "**"))


def _glob(text: str) -> re.Pattern[str]:
    return re.compile(glob_translate(text).removesuffix(r"\Z") + _DEEPER)


def _split(text: str) -> tuple[str, str]:
    """The folder before the first part with magic, and the rest."""
    parts = text.split("/")
    first = next(at for at, part in enumerate(parts) if _MAGIC.search(part))
    plain = "/".join(parts[:first])
    return plain or ("/" if text.startswith("/") else "."), "/".join(parts[first:])


def _nothing(text: str, found: str) -> NoRecordings:
    return NoRecordings(
        "a source does not exist",
        where=text,
        expected="a folder of recordings, a file or a glob that matches some",
        found=found,
        hint="Check the path; its link may be broken. Quote a glob, so that the shell leaves it.",
    )
