"""The part of a listing that is wanted: the recordings that are new, or a sample.

A sample are the recordings whose paths have the smallest digests, so a larger sample of the same
listing contains a smaller one.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.kinds import RecordingsManifest
from audioloom_manifest.parquet import INVENTORY
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_storage import Location

from audioloom_featurizer.errors import BadInventory, InvalidOption
from audioloom_featurizer.inventory.parquet import LISTING_COLUMNS, inventory_location, read_batches
from audioloom_featurizer.inventory.schema import BATCH_ROWS, ROWS
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.streams import distinct, merge, merge_join

T = TypeVar("T")

_KNOWN = pa.schema([INVENTORY.field(name) for name in LISTING_COLUMNS])


def listing_chain(place: str, source: Location) -> list[Opened[RecordingsManifest]]:
    """Open the manifest of an earlier listing and the manifests that it continues, newest first.

    Raises:
        ManifestError: a manifest is missing or damaged.
        InvalidOption: the manifests list another source.
        BadInventory: another manifest replaced a manifest of the chain.
    """
    chain = [read_manifest(place, "recordings")]
    while references := chain[-1].manifest.inputs:
        before = read_manifest(resolve_input(references[0], chain[-1].root), "recordings")
        if before.manifest.identity != references[0].identity:
            raise BadInventory(
                where=before.location,
                expected=f"the identity {references[0].identity}",
                found=before.manifest.identity,
                hint="Another manifest took its place: scan again without --since.",
            )
        chain.append(before)
    for opened in chain:
        if opened.manifest.recipe.source != source.uri:
            raise InvalidOption(
                "the manifest lists another source",
                where=f"--since {place}",
                expected=source.uri,
                found=opened.manifest.recipe.source,
                hint="Paths are relative to the source: they would not be the same recordings.",
            )
    return chain


def new_recordings(
    recordings: Iterable[pa.RecordBatch], chain: Iterable[Opened[RecordingsManifest]], tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings that no manifest of the chain names; those that changed are not new.

    The batches of `ROWS` are in the order of their paths, each path once.
    """
    streams = [read_batches(inventory_location(opened), LISTING_COLUMNS) for opened in chain]
    known = distinct(merge(streams, "path"), "path")
    for piece in merge_join(recordings, known, "path", (ROWS, _KNOWN)):
        paths = piece.left.column("path")
        size, time = (
            pc.not_equal(piece.left.column(name), piece.right.column(name))
            for name in ("size", "modified_ns")
        )
        tally.add("changed", paths.filter(pc.or_(size, time)))
        tally.add("gone", piece.unmatched.column("path"))
        if (new := piece.left.filter(pc.is_null(piece.right.column("path")))).num_rows:
            yield new


def sample_rows(
    batches: Iterable[pa.RecordBatch], most: int, tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Yield the sample as batches of `ROWS`, in the order of the paths; memory holds its rows."""

    def rows() -> Iterator[tuple[str, dict[str, object]]]:
        for batch in batches:
            tally.add("sampled", batch.column("path"))
            yield from ((row["path"], row) for row in batch.to_pylist())

    chosen = sorted(smallest_digests(rows(), most), key=lambda each: each[0].encode())
    for first in range(0, len(chosen), BATCH_ROWS):
        some = [row for _, row in chosen[first : first + BATCH_ROWS]]
        yield pa.RecordBatch.from_pylist(some, schema=ROWS)


def smallest_digests(pairs: Iterable[tuple[str, T]], most: int) -> list[tuple[str, T]]:
    """Take the *most* pairs of a path and a value whose paths have the smallest SHA-256."""
    return heapq.nsmallest(most, pairs, key=lambda pair: hashlib.sha256(pair[0].encode()).digest())
