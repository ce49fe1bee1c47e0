"""Load the shared library of csrc/ and find the kernels that run on this processor."""

import ctypes
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Load the library and declare the argument types of its functions."""
    loaded = ctypes.CDLL(str(Path(__file__).with_name("_kernels.so")))
    number, size, power, array = ctypes.c_int, ctypes.c_long, ctypes.c_float, ctypes.c_void_p
    for name, answer, arguments in (
        ("level", number, []),
        ("powers", None, [number, array, size, size, array, array]),
        ("powers_again", None, [number, array, array, size, array, array]),
        ("delicate", size, [number, array, size, array, power, power, array]),
        ("cepstra", None, [number, array, size, array, power, array]),
        ("signal", None, [number, array, array, array, size, number, number, array]),
        ("peak", ctypes.c_uint32, [number, array, size]),
    ):
        function = getattr(loaded, f"audioloom_{name}")
        function.restype, function.argtypes = answer, arguments
    return loaded


@lru_cache(maxsize=1)
def best_level() -> int:
    """The level of x86-64 whose kernels run here: 4 (AVX-512), 3 (AVX2 and FMA) or 0 (none)."""
    return int(library().audioloom_level())


def supported() -> bool:
    """Whether this processor can run any of the kernels."""
    return best_level() > 0
