"""Open runs of audioloom from Python: `audioloom.open(uri)`; the command line is `audioloom`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audioloom.client.runs import Run

__all__ = ["open"]


def open(uri: str) -> "Run":  # noqa: A001 - as gzip.open is called
    """Open a committed run: its folder or its manifest, as a path or a URI.

    The run is a `Recordings`, `Features`, `Shards` or `Training` of `audioloom.client.runs`.

    Raises:
        ManifestError: there is no such run, or its manifest is damaged.
    """
    from audioloom.client.runs import open_run  # noqa: PLC0415 - the command line needs none of it

    return open_run(uri)
