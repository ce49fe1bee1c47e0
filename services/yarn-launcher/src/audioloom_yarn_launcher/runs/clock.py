"""The time as records have it. Nothing is decided by it: clocks of machines differ."""

from datetime import UTC, datetime


def now() -> str:
    """RFC 3339, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
