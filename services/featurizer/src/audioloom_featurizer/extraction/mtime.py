"""Compare the modification time of a file with the listed one, at the listing's resolution."""

import numpy as np

_SECOND = 1_000_000_000
_RESOLUTIONS = (60 * _SECOND, _SECOND, 1_000_000, 1000)
"""An fsimage's dump holds minutes, some tables seconds, HDFS milliseconds; others nanoseconds."""


def same_time(listed: int | None, found: int) -> bool:
    """Whether a file's time, rounded to the listing's resolution, equals the listed time.

    Args:
        listed: nanoseconds since 1970, rounded down to the resolution of the listing; None if the
            listing has no time: then every time is accepted.
        found: the time that storage reports now, in nanoseconds since 1970.
    """
    if listed is None:
        return True
    resolution = next((each for each in _RESOLUTIONS if listed % each == 0), 1)
    return found // resolution * resolution == listed


def utc(nanoseconds: int) -> str:
    """Format a time to the nanosecond; a year that 64 bits do not hold gives the plain number."""
    try:
        return f"{np.datetime64(nanoseconds, 'ns')}Z"
    except OverflowError:
        return f"{nanoseconds} ns since 1970"
