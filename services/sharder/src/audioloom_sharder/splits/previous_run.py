"""An earlier shards run whose groups stay in their splits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from audioloom_manifest.envelope import FileEntry, InputRef
from audioloom_manifest.file_list import check_file
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_storage import Location, read_bytes
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord, DamagedShards, InvalidOption
from audioloom_sharder.splits.groups_file import load
from audioloom_sharder.splits.hashing import SplitLookup

SPLITS_ROLE = "splits"


@dataclass(frozen=True)
class PreviousRun:
    """An earlier shards run whose groups stay in their splits."""

    location: Location
    """Its folder."""
    entry: FileEntry
    splits: tuple[str, ...]
    """The names of the splits, in the order of their numbers."""
    seed: int
    reference: InputRef

    def read(self, splits: Sequence[str]) -> SplitLookup:
        """Read the split of each group, hashed with the run's seed; numbers count *splits*."""
        groups = read_groups(self.location, self.entry, len(self.splits))
        numbers = np.array([splits.index(name) for name in self.splits], np.uint8)
        return SplitLookup(groups["group"], numbers[groups["split"]])


def open_previous_run(place: str | Location, root: Location, splits: Iterable[str]) -> PreviousRun:
    """Open the run at *place*, for a run under *root* that has *splits*.

    Raises:
        ManifestError: it is missing, damaged, of another kind or an unknown version.
        InvalidOption: it has a split that the new run lacks.
        DamagedShards: it has no splits file.
    """
    opened = read_manifest(place, "shards")
    names = tuple(sorted(opened.manifest.stats.splits))
    if gone := [name for name in names if name not in splits]:
        raise InvalidOption(
            f"the previous run has the split {' and '.join(map(repr, gone))}",
            expected="every split of the previous run in --split",
            found=", ".join(splits),
            where=opened.location,
            hint="Its groups lie there: name the split in --split, with any ratio.",
        )
    seed = opened.manifest.recipe.seed
    return PreviousRun(opened.folder, splits_entry(opened), names, seed, opened.reference(root))


def splits_entry(opened: Opened[ShardsManifest]) -> FileEntry:
    """Return the splits file of a run; raise DamagedShards if the run has none."""
    files = opened.files(SPLITS_ROLE)
    if len(files) != 1:
        raise DamagedShards(
            expected=f"one file of role {SPLITS_ROLE}, which says where its groups lie",
            found=len(files),
            where=opened.location,
            hint="An older release wrote none: run the same command again with another --name, and"
            " give that run to --keep-splits; its splits are the same.",
        )
    return files[0]


def read_groups(folder: Location, entry: FileEntry, splits: int) -> NDArray[np.void]:
    """Read all groups (`GROUP`, ascending) of a run with this number of *splits*.

    Raises:
        ManifestError: the file is missing or changed.
        DamagedShards: the file is not a splits file.
    """
    check_file(folder, entry)
    try:
        return load(read_bytes(folder / entry.path, limit=entry.bytes), splits)
    except DamagedRecord as error:
        raise DamagedShards(str(error), where=folder / entry.path) from error
