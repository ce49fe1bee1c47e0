"""A folder for files that tasks hand to the driver: local, or where all nodes reach it."""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from audioloom_storage import Location, NotFound, locate, remove_tree

FOLDER = "scratch"
"""Below a root; `gc` looks here for the files of a scan that was killed."""


@contextmanager
def scratch_folder(master: str, root: Location) -> Iterator[Location]:
    """A folder, perhaps not made yet, that is gone when the block ends."""
    if master.startswith("local") or not master:
        with tempfile.TemporaryDirectory(prefix="audioloom-featurizer-") as made:
            yield locate(made)
        return
    folder = root / FOLDER / f"scan-{uuid.uuid4().hex}"
    try:
        yield folder
    finally:
        with suppress(NotFound):
            remove_tree(folder)
