"""What daemons of a cluster answer, in the forms that their releases give it."""

from typing import Any


def rows(value: Any) -> list[dict[str, Any]]:
    """A list of objects; of one element, older ResourceManagers write the element."""
    every = value if isinstance(value, list) else [value]
    return [each for each in every if isinstance(each, dict)]
