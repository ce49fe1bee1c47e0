"""How many cores this process may use: by its affinity, and by its container's quota."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_cores"]

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores(quota_file: Path = _QUOTA) -> int:
    """Cores that may be used, at least one; a quota of 1.5 cores counts as two."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = quota_file.read_text().split()
        cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file here, or "max": no quota
        pass
    return max(1, cores)
