"""Named arrays as one `.npz` whose bytes depend only on names, order and values."""

import io
import zipfile
from collections.abc import Mapping

import numpy as np
from audioloom_manifest.records.arrays import BadArrays, load_arrays
from numpy.typing import NDArray

__all__ = ["BadArrays", "dump_arrays", "load_arrays"]

_EPOCH = (1980, 1, 1, 0, 0, 0)


def dump_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return the bytes of an uncompressed NumPy archive, in the given order, with a fixed time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            entry = io.BytesIO()
            # Extension types (bfloat16) are written as raw bytes; `load_arrays` returns raw bytes.
            np.lib.format.write_array(
                entry, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False
            )
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), entry.getvalue())
    return out.getvalue()
