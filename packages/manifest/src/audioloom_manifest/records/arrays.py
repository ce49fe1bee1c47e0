"""Read named arrays from a NumPy archive, as the weights and the states of trainings are stored."""

import io
import zipfile
from typing import Any

from numpy.typing import NDArray

from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.index import read_array


class BadArrays(ValueError):
    """The bytes are no uncompressed archive of arrays of numbers."""


def load_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays by name, in the order in which they were written.

    No memory is reserved for what a header claims, and nothing is unpickled or decompressed.

    Raises:
        BadArrays: the bytes are another thing.
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


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    if entry.compress_type != zipfile.ZIP_STORED:
        raise BadArrays(f"{entry.filename} is compressed")
    try:
        return read_array(archive.read(entry))
    except RecordError as error:
        raise BadArrays(f"{entry.filename}: {error}") from None
