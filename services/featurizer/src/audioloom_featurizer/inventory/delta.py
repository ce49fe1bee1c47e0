"""Find recordings that no manifest of an earlier listing's chain names."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest import Opened, RecordingsManifest, read_manifest, resolve_input
from audioloom_storage import Location

from audioloom_featurizer.errors import BadInventory, InvalidOption
from audioloom_featurizer.external.merge_join import distinct, merge_join
from audioloom_featurizer.external.sort import merge
from audioloom_featurizer.inventory.parquet import LISTING_COLUMNS, inventory_location, read_batches
from audioloom_featurizer.inventory.schema import ROWS

KNOWN = pa.schema([ROWS.field(name) for name in LISTING_COLUMNS])
_EXAMPLES = 5


@dataclass
class Changes:
    """Recordings that changed since the earlier listing; they are not listed as new.

    Attributes:
        changed: recordings with a different size or modification time.
        gone: recordings that no longer exist.
        examples: some paths of each.
    """

    changed: int = 0
    gone: int = 0
    examples: dict[str, list[str]] = field(default_factory=lambda: {"changed": [], "gone": []})

    def add(self, what: str, paths: pa.StringArray) -> None:
        """Count more recordings."""
        setattr(self, what, getattr(self, what) + len(paths))
        shown = self.examples[what]
        shown += paths.slice(0, _EXAMPLES - len(shown)).to_pylist()


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
    recordings: Iterable[pa.RecordBatch],
    chain: Iterable[Opened[RecordingsManifest]],
    changes: Changes,
) -> Iterator[pa.RecordBatch]:
    """Yield the recordings that no manifest of the chain names.

    Args:
        recordings: batches of `ROWS` in the order of their paths, each path once.
        chain: the manifests from `listing_chain`.
        changes: counts the changed and the missing recordings.
    """
    streams = [_known(inventory_location(opened)) for opened in chain]
    known = distinct(merge(streams, "path"), "path")
    for piece in merge_join(recordings, known, "path", (ROWS, KNOWN)):
        old = pc.is_valid(piece.right.column("path"))
        differs = pc.or_(
            *(
                pc.not_equal(piece.left.column(name), piece.right.column(name))
                for name in LISTING_COLUMNS[1:]
            )
        )
        changes.add("changed", piece.left.column("path").filter(differs))
        changes.add("gone", piece.unmatched.column("path"))
        if (new := piece.left.filter(pc.invert(old))).num_rows:
            yield new


def _known(inventory: Location) -> Iterator[pa.RecordBatch]:
    for batch in read_batches(inventory):
        yield pa.RecordBatch.from_arrays(
            [batch.column(name) for name in LISTING_COLUMNS], schema=KNOWN
        )
