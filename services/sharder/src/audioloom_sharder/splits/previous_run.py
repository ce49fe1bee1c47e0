"""What splits follow beside a wish: an earlier run that is kept to, or a table that says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from audioloom_manifest import (
    FileEntry,
    InputRef,
    Opened,
    ShardsManifest,
    check_file,
    file_sha256,
    read_manifest,
)
from audioloom_storage import Location, locate, read_bytes
from numpy.typing import NDArray

from audioloom_sharder.errors import BadSplit, BadTable, DamagedRecord, DamagedShards
from audioloom_sharder.splits.groups_file import load
from audioloom_sharder.splits.table import Said, key_of_table, read_table

SPLITS_ROLE = "splits"


@dataclass(frozen=True)
class Kept:
    """An earlier shards run whose groups stay where they lie."""

    folder: Location
    entry: FileEntry
    splits: tuple[str, ...]
    """Their names, in the order of their numbers."""
    seed: int
    reference: InputRef

    def read(self, splits: Sequence[str]) -> NDArray[np.void]:
        """All its groups (`GROUP`), hashed with its own seed, in numbers that count *splits*."""
        groups = read_groups(self.folder, self.entry, len(self.splits)).copy()
        numbers = np.array([splits.index(name) for name in self.splits], np.uint8)
        groups["split"] = numbers[groups["split"]]
        return groups


@dataclass(frozen=True)
class SplitTable:
    """A table that says the splits, as it was when the run was asked for."""

    location: Location
    sha256: str
    key: Literal["group", "recording"]

    def read(self, *, seed: int) -> Said:
        """What it says.

        Raises:
            BadTable: it is damaged or contradicts itself, or was changed meanwhile.
        """
        found = file_sha256(self.location)
        if found != self.sha256:
            raise BadTable(
                expected=f"SHA-256 {self.sha256}",
                found=found,
                where=self.location,
                hint="The table was changed on the way: run again.",
            )
        return read_table(self.location, seed=seed)


@dataclass(frozen=True)
class Given:
    """What the tasks that decide the splits are to read."""

    kept: Kept | None = None
    table: SplitTable | None = None


NOTHING = Given()


def keep(place: str | Location, root: Location, wished: Sequence[str]) -> Kept:
    """The run at *place*, for a run under *root* that has the splits *wished*.

    Raises:
        ManifestError: it is missing, damaged, of another kind or an unknown version.
        BadSplit: it has splits that are not wished for.
        DamagedShards: it does not say where its groups lie.
    """
    opened = read_manifest(place, "shards")
    names = tuple(sorted(opened.manifest.stats.splits))
    if gone := [name for name in names if name not in wished]:
        raise BadSplit(
            f"the run that is kept to has the split {' and '.join(map(repr, gone))}",
            expected="every split of it in --split",
            found=", ".join(wished),
            where=opened.location,
            hint="Its groups lie there: name the split in --split, with any part.",
        )
    return Kept(
        opened.folder,
        splits_entry(opened),
        names,
        opened.manifest.recipe.seed,
        opened.reference(root),
    )


def splits_entry(opened: Opened[ShardsManifest]) -> FileEntry:
    """The splits file of a run.

    Raises:
        DamagedShards: it has none.
    """
    files = opened.files(SPLITS_ROLE)
    if len(files) != 1:
        raise DamagedShards(
            expected=f"one file of role {SPLITS_ROLE}, which says where its groups lie",
            found=len(files),
            where=opened.location,
            hint="An older release wrote none: run the same command again with another --name, and"
            " keep to that run; its splits are the same.",
        )
    return files[0]


def read_groups(folder: Location, entry: FileEntry, splits: int) -> NDArray[np.void]:
    """All groups of a run (`GROUP`, ascending) with so many *splits*.

    Raises:
        ManifestError: the file is missing or changed.
        DamagedShards: it is not what it should be.
    """
    check_file(folder, entry)
    try:
        return load(read_bytes(folder / entry.path, limit=entry.bytes), splits)
    except DamagedRecord as error:
        raise DamagedShards(str(error), where=folder / entry.path) from error


def open_table(place: str | Location) -> SplitTable:
    """The table at *place*: its columns are looked at, its bytes are digested.

    Raises:
        BadTable: it is no table, or lacks the columns.
        StorageError: it cannot be read.
    """
    where = locate(place)
    key = key_of_table(where)
    return SplitTable(where, file_sha256(where), key)
