"""Named arrays as one `.npz` whose bytes depend only on names, order and values."""

import io
import zipfile
from collections.abc import Mapping

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import read_array
from numpy.typing import NDArray

_EPOCH = (1980, 1, 1, 0, 0, 0)


class BadArrays(ValueError):
    """The bytes are not arrays that `dump_arrays` wrote."""


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


def load_arrays(data: bytes) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of `dump_arrays` by name, in the order in which they were written.

    Raises:
        BadArrays: the bytes are not an archive of `dump_arrays`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {
                each.filename.removesuffix(".npy"): _array(archive, each)
                for each in archive.infolist()
            }
    # An encrypted entry is a RuntimeError.
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, RuntimeError) as error:
        raise BadArrays(str(error) or type(error).__name__) from None


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[np.generic]:
    if entry.compress_type != zipfile.ZIP_STORED:
        raise BadArrays(f"{entry.filename} is compressed")
    try:
        return read_array(archive.read(entry))
    except RecordError as error:
        raise BadArrays(f"{entry.filename}: {error}") from None
