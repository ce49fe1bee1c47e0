"""Scratch files of this process, and a scratch folder for files that tasks pass to the driver."""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom

from audioloom_storage import Location, NotFound, locate, remove_tree

FOLDER = "scratch"
"""Below a root; `gc` looks here for the files of a scan that was killed."""

_PREFIX = "audioloom-featurizer-"


def scratch_file() -> BufferedRandom:
    """Open a local file without a name."""
    return tempfile.TemporaryFile(prefix=_PREFIX)


@contextmanager
def scratch_folder(master: str, root: Location) -> Iterator[Location]:
    """Yield a folder, which may not exist yet, and delete it at the end of the block.

    It is local, or below the root, where all nodes reach it.
    """
    if master.startswith("local") or not master:
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as made:
            yield locate(made)
        return
    folder = root / FOLDER / f"scan-{uuid.uuid4().hex}"
    try:
        yield folder
    finally:
        with suppress(NotFound):
            remove_tree(folder)
