"""The splits file of a run: the split of each group, so that a later run can keep it.

The file is a NumPy file (format 1.0, no pickled objects), ascending. A row is a group: its hash
keyed with the run's seed, its records, and the number of its split in the order of names.
"""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.splits.hashing import run_starts

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


def load(data: bytes, splits: int) -> NDArray[np.void]:
    """Read the splits file of a run with this number of *splits*.

    Raises:
        DamagedRecord: it is no splits file, is out of order, or has an unknown split number.
    """
    stream = io.BytesIO(data)
    try:
        rows = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DamagedRecord(f"not a NumPy file of numbers: {error}") from error
    if rows.dtype != GROUP or rows.ndim != 1:
        raise DamagedRecord(f"an array of {rows.dtype} and shape {rows.shape}, expected {GROUP}")
    if stream.read(1):
        raise DamagedRecord("bytes after the end of the array")
    if (rows["group"][1:] <= rows["group"][:-1]).any():
        raise DamagedRecord("groups out of order, or twice")
    if len(rows) and int(rows["split"].max()) >= splits:
        raise DamagedRecord(f"a group in split number {int(rows['split'].max())} of {splits}")
    if len(rows) and not rows["records"].min():
        raise DamagedRecord("a group without records")
    return np.asarray(rows)
