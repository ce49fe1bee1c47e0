"""How many cores this process may use, and that NumPy's arithmetic uses no more.

By affinity, by the quota of the container and, where YARN sets none, by the virtual cores that it
was asked for: Skein, which `audioloom-yarn-launcher` starts containers by, tells each how many.
"""

from __future__ import annotations

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
