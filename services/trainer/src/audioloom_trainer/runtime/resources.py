"""The cores that this process may use, and how its C library keeps freed memory.

Cores are limited by affinity, by the quota of the container and, where YARN sets none, by the
virtual cores that were asked for: Skein, which starts the launcher's containers, tells each how
many.
"""

import ctypes
import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_VCORES = "SKEIN_RESOURCE_VCORES"
# Read by the libraries that NumPy may have been built with, once, when it is imported.
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def available_cores(quota_file: Path = _QUOTA, variables: Mapping[str, str] = os.environ) -> int:
    """Cores that may be used, at least one; a quota of 1.5 cores counts as two."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = quota_file.read_text().split()
        cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file here, or "max": no quota
        pass
    vcores = variables.get(_VCORES, "")
    if vcores.isdecimal():
        cores = min(cores, int(vcores))
    return max(1, cores)


def limit_arithmetic(threads: int, variables: MutableMapping[str, str] = os.environ) -> None:
    """Keep NumPy from starting a thread for each core of the machine; call it before its import.

    Args:
        threads: 0 takes the cores that this process may use. What the user has set stays.
        variables: of this process.
    """
    for name in _LIMITS:
        variables.setdefault(name, str(threads or available_cores()))


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
