"""Tell the damage that Arrow finds in a file from failures of storage."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def damage_as(error_of: Callable[[str], Exception]) -> Iterator[None]:
    """Raise *error_of* Arrow's text where it finds damage; errors of storage pass unchanged."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow raises OSError for damaged pages too, without a number; storage has its own types.
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise
        raise error_of(" ".join(str(error).split())[:300]) from error
