"""The C library's heap, told to keep between two steps what both of them need."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt(3)
_KEPT_BYTES = 1 << 30
_MOST_ON_HEAP_BYTES = 32 << 20  # the most that glibc takes
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")


def keep_freed_memory(variables: Mapping[str, str] = os.environ) -> None:
    """Keep freed memory in this process, for whatever asks next.

    A step frees all of its tensors. glibc may then give their pages back to the kernel, which has
    to zero others for the step after. Whether it does depends on how the first blocks came to lie;
    where it does, a step on processors took up to two fifths longer. The most memory held is the
    same.

    Nothing is done where the environment already tells glibc what to do, or the C library is
    another one.
    """
    if "glibc.malloc." in variables.get("GLIBC_TUNABLES", "") or any(
        name in variables for name in _VARIABLES
    ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MOST_ON_HEAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
