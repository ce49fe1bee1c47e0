"""A scratch folder for files that tasks pass to the driver: local, or reachable by all nodes."""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from audioloom_storage import Location, NotFound, locate, remove_tree

FOLDER = "scratch"
"""Below a root; `gc` looks here for the files of a scan that was killed."""


@contextmanager
def scratch_folder(master: str, root: Location) -> Iterator[Location]:
    """Yield a folder, which may not exist yet, and delete it at the end of the block."""
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
