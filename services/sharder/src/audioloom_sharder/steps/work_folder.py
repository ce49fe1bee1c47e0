"""Choose where a run keeps its intermediate files: below its folder, or on local disk."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from audioloom_stage.temporary_folder import temporary_folder
from audioloom_storage import Location, locate

from audioloom_sharder.steps.job import WORK

MOST_LOCAL_BYTES = 4 << 30
"""Values of a run whose intermediate files may lie on local disk: a minute or two of work."""

_SPARE = 2
"""The free disk that a local folder needs, in sizes of the values."""

_PREFIX = "audioloom-sharder-work-"


@contextmanager
def work_folder(run: Location, values: int | None, master: str) -> Iterator[Location]:
    """Yield the folder of the intermediate files of a *run*.

    They would take the payload to a cluster or an object store and back once more. So a small run
    of one machine keeps them on local disk, and removes them at the end of the block. If it is
    killed, the next attempt makes them again; finished shards stay.

    Args:
        run: the run's folder.
        values: bytes of the values of all its records; None if they are not known yet.
        master: ``inline``, or a Spark master.
    """
    alone = master == "inline" or master.startswith("local")
    if run.scheme != "file" and alone and values is not None and _fits(values):
        with temporary_folder(_PREFIX) as made:
            yield locate(made)
    else:
        yield run / WORK


def _fits(values: int) -> bool:
    if values > MOST_LOCAL_BYTES:
        return False
    return _SPARE * values <= shutil.disk_usage(tempfile.gettempdir()).free
