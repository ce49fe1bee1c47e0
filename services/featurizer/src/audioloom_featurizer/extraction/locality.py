"""Choose the recordings of a unit that decide on which node the unit runs."""

from collections.abc import Iterator, Sequence

import numpy as np
from audioloom_manifest.parquet import INVENTORY
from audioloom_storage import Location

from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.inventory.parquet import open_parquet

MOST = 3
"""Each recording costs a question to the NameNode, and a few large ones hold most of the bytes."""


def largest_recordings(
    source: Location, inventory: Location, units: Sequence[Unit]
) -> list[list[Location]]:
    """Find the largest recordings of each unit, at most `MOST`, largest first.

    Args:
        source: the folder that the inventory's paths are relative to.
        inventory: the inventory; it is read once, a row group at a time.
        units: the units in any order.
    """
    found: list[list[Location]] = [[] for _ in units]
    rows = _Rows(inventory)
    for number in sorted(range(len(units)), key=lambda number: units[number].first):
        unit = units[number]
        sized = rows.between(unit.first, unit.first + unit.recordings)
        sizes = np.array([size for _, size in sized])
        for index in np.argsort(-sizes, kind="stable")[:MOST]:
            found[number].append(source.child(sized[index][0]))
    return found


class _Rows:
    """Reads paths and sizes of an inventory from front to back."""

    def __init__(self, inventory: Location) -> None:
        self._batches = _paths_and_sizes(inventory)
        self._first = 0
        self._held: list[tuple[str, int]] = []

    def between(self, first: int, end: int) -> list[tuple[str, int]]:
        """Read rows *first* … *end* - 1; drop earlier rows."""
        while self._first + len(self._held) < end:
            batch = next(self._batches, None)
            if batch is None:
                break
            drop = max(0, min(first - self._first, len(self._held)))
            self._first, self._held = self._first + drop, self._held[drop:] + batch
        return self._held[max(0, first - self._first) : end - self._first]


def _paths_and_sizes(inventory: Location) -> Iterator[list[tuple[str, int]]]:
    with open_parquet(inventory, INVENTORY) as file:
        for batch in file.iter_batches(columns=["path", "size"], use_threads=False):
            paths, sizes = batch.column("path").to_pylist(), batch.column("size").to_pylist()
            yield list(zip(paths, sizes, strict=True))
