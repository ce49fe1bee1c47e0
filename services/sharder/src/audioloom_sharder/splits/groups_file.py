"""The splits file of a run: the split of each group, so that a later run can keep it.

The file is a NumPy file (format 1.0, no pickled objects), ascending. A row is a group: its hash
keyed with the run's seed, its records, and the number of its split in the order of names.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from audioloom_manifest.envelope import FileEntry, InputRef
from audioloom_manifest.errors import RecordError
from audioloom_manifest.file_list import check_file
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.records.index import read_rows
from audioloom_storage import Location, read_bytes
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedShards, InvalidOption
from audioloom_sharder.splits.hashing import SplitLookup, run_starts

SPLITS_ROLE = "splits"
GROUP = np.dtype([("group", "<u8"), ("records", "<u8"), ("split", "u1")])
"""A row of a splits file."""


def merge_groups(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Merge the groups (`GROUP`) of all files, ascending; a group in two splits has two rows."""
    whole = np.concatenate(parts)
    whole = whole[np.lexsort((whole["split"], whole["group"]))]
    first = run_starts(whole["group"], whole["split"])
    found = whole[first]
    if len(first):
        found["records"] = np.add.reduceat(whole["records"], first)
    return found


def header(groups: int) -> bytes:
    """Return the first bytes of a splits file; the rows follow as they lie in memory."""
    stream = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(GROUP), "fortran_order": False}
    np.lib.format.write_array_header_1_0(stream, {**described, "shape": (groups,)})
    return stream.getvalue()


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
        DamagedShards: it is no splits file, is out of order, or has an unknown split number.
    """
    check_file(folder, entry)
    where = folder / entry.path
    try:
        rows = read_rows(read_bytes(where, limit=entry.bytes), GROUP)
    except RecordError as error:
        raise DamagedShards(str(error), where=where) from error
    if (rows["group"][1:] <= rows["group"][:-1]).any():
        raise DamagedShards("groups out of order, or twice", where=where)
    if len(rows) and (last := int(rows["split"].max())) >= splits:
        raise DamagedShards(f"a group in split number {last} of {splits}", where=where)
    if len(rows) and not rows["records"].min():
        raise DamagedShards("a group without records", where=where)
    return rows
