"""Load the shared library of csrc/ and find the kernels that run on this processor."""

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.ctypeslib import ndpointer

# The C functions check nothing: ctypes refuses arrays of another type, shape or layout.
_FLOATS = ndpointer(np.float32, 1, flags="C_CONTIGUOUS")
_NUMBERS = ndpointer(np.int64, 1, flags="C_CONTIGUOUS")
_MEL = ndpointer(np.float32, 2, flags="C_CONTIGUOUS")
_MEL_OUT = ndpointer(np.float32, 2, flags=("C_CONTIGUOUS", "WRITEABLE"))


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Load the library and declare the argument types of its functions."""
    loaded = ctypes.CDLL(str(Path(__file__).with_name("_kernels.so")))
    number, size, power, array = ctypes.c_int, ctypes.c_long, ctypes.c_float, ctypes.c_void_p
    for name, answer, arguments in (
        ("level", number, []),
        ("powers", None, [number, _FLOATS, size, size, array, _MEL_OUT]),
        ("powers_again", None, [number, _FLOATS, _NUMBERS, size, array, _MEL_OUT]),
        ("any_powers", None, [number, _FLOATS, size, array, array, _MEL_OUT]),
        ("any_powers_again", None, [number, _FLOATS, _NUMBERS, size, array, array, _MEL_OUT]),
        ("delicate", size, [number, _MEL, size, array, power, power, _NUMBERS]),
        ("cepstra", None, [number, _MEL, size, array, power, _MEL]),
        ("signal", None, [number, array, array, array, size, number, number, _FLOATS]),
        ("peak", ctypes.c_uint32, [number, _FLOATS, size]),
    ):
        function = getattr(loaded, f"audioloom_{name}")
        function.restype, function.argtypes = answer, arguments
    return loaded


@lru_cache(maxsize=1)
def best_level() -> int:
    """The level of x86-64 whose kernels run here: 4 (AVX-512), 3 (AVX2 and FMA) or 0 (none)."""
    return int(library().audioloom_level())
