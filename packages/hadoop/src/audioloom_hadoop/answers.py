"""Parse answers of a cluster's daemons, in the forms of their releases."""

from typing import Any


def rows(value: Any) -> list[dict[str, Any]]:
    """Return a list of objects; older ResourceManagers write a list of one as its element."""
    every = value if isinstance(value, list) else [value]
    return [each for each in every if isinstance(each, dict)]
