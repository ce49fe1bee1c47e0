"""The time format of records; no decision depends on it, because clocks of machines differ."""

from datetime import UTC, datetime


def now() -> str:
    """Return the time in RFC 3339, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
