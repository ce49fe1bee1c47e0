"""The cores and open files that this process may use, and the C library's freed memory.

Cores are limited by affinity and by the container's quota. If YARN sets no quota, the requested
virtual cores are the limit: Skein, which starts the launcher's containers, passes their number.
"""

import ctypes
import os
import resource
import threading
from collections.abc import Mapping, MutableMapping
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_VCORES = "SKEIN_RESOURCE_VCORES"
# NumPy's arithmetic libraries read these variables once, when NumPy is imported.
_BEHIND, _NICEST = 5, 19
"""A third of the share of the others, so they never wait long for a lock that it holds."""
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def available_cores(quota_file: Path = _QUOTA, variables: Mapping[str, str] = os.environ) -> int:
    """Return the number of usable cores, at least one; a quota of 1.5 cores counts as two."""
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


def give_way() -> None:
    """Let the other threads of this process have the cores first; on Linux each has a niceness."""
    thread = threading.get_native_id()
    niceness = os.getpriority(os.PRIO_PROCESS, thread) + _BEHIND
    os.setpriority(os.PRIO_PROCESS, thread, min(niceness, _NICEST))


def limit_arithmetic(threads: int, variables: MutableMapping[str, str] = os.environ) -> None:
    """Limit NumPy's threads, by default one for each core of the machine. Call before its import.

    No *threads* takes the cores that this process may use. Variables set by the user stay.
    """
    for name in _LIMITS:
        variables.setdefault(name, str(threads or available_cores()))


_OPEN_FILES = 65_536


def raise_file_limit() -> None:
    """Raise the limit of open files as far as this process may: each held shard is one.

    A worker holds a window of shards of each of its lanes, and limits are often 1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt(3)
_KEPT_BYTES = 1 << 30
_MOST_ON_HEAP_BYTES = 32 << 20  # the largest value that glibc accepts
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")


def keep_freed_memory(variables: Mapping[str, str] = os.environ) -> None:
    """Keep freed memory in this process for later allocations.

    A step frees all its tensors. Depending on the layout of the first blocks, glibc may then return
    their pages to the kernel, which must zero new pages for the next step: steps on processors took
    up to two fifths longer. The peak memory is equal.

    Does nothing if the environment already configures glibc, or with another C library.
    """
    if "glibc.malloc." in variables.get("GLIBC_TUNABLES", "") or any(
        name in variables for name in _VARIABLES
    ):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MOST_ON_HEAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
