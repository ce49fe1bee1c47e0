"""Archives of arrays from outside."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from audioloom_manifest.records.arrays import BadArrays, load_arrays


def objects() -> bytes:
    """An archive with a pickled object in it."""
    out = io.BytesIO()
    np.savez(out, x=np.array([{}], dtype=object))
    return out.getvalue()


def compressed() -> bytes:
    """An archive whose entry becomes much larger."""
    out = io.BytesIO()
    np.savez_compressed(out, x=np.zeros(1 << 20))
    return out.getvalue()


def entry(content: bytes) -> bytes:
    """An archive with one stored entry."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", content)
    return out.getvalue()


def npy(header: str, values: bytes) -> bytes:
    """A NumPy file with a header of any text."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


GOOD = entry(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(16)))
HUGE = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", b"")
TURNED = npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1)}", bytes(16))


BAD = {
    "empty": b"",
    "a beginning": b"PK",
    "cut off": GOOD[:-30],
    "the end alone": GOOD[100:],
    "objects": objects(),
    "compressed": compressed(),
    "no archive": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", bytes(8)),
    "no array": entry(b"no array"),
    "huge": entry(HUGE),
    "turned": entry(TURNED),
    "open header": entry(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,", bytes(16))),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_archive_is_refused(name: str) -> None:
    """And nothing is unpickled."""
    assert [0.0, 0.0] == load_arrays(GOOD)["x"].tolist()
    with pytest.raises(BadArrays):
        load_arrays(BAD[name])
