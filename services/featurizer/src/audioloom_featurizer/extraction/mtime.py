"""Whether a file was modified since it was listed, whatever its listing could tell of the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_SECOND = 1_000_000_000
_RESOLUTIONS = (60 * _SECOND, _SECOND, 1_000_000, 1000)
"""An fsimage's dump tells minutes, some tables seconds, HDFS milliseconds; others nanoseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def same_time(listed: int | None, found: int) -> bool:
    """Whether a file may be unmodified: its time is the listed one, as far as that one tells.

    Args:
        listed: nanoseconds since 1970, rounded down to what its listing could tell; None where
            nothing is to be compared.
        found: what the storage says now, in nanoseconds since 1970.
    """
    if listed is None:
        return True
    resolution = next((each for each in _RESOLUTIONS if listed % each == 0), 1)
    return found // resolution * resolution == listed


def utc(nanoseconds: int) -> str:
    """The time in words, to the nanosecond; years beyond those of calendars as the number."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    try:
        whole = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return f"{nanoseconds} ns since 1970"
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
