"""Compute a sample of committed features again by librosa and compare the values."""

from collections import defaultdict
from collections.abc import Iterator

import pyarrow.parquet as pq
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.progress_bar import progress
from audioloom_storage import locate, open_read

from audioloom_featurizer.extraction.agreement import Comparison, Stored, compare, read_stored
from audioloom_featurizer.extraction.recipe import settings_from_recipe
from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.inventory.parquet import inventory_location, read_recordings
from audioloom_featurizer.inventory.sample import smallest_digests


def compare_values(
    features: Opened[FeaturesManifest],
    recordings: Opened[RecordingsManifest],
    sample: int,
    function: str | None = None,
) -> Comparison:
    """Compute *sample* recordings again by librosa: the smallest by the digest of the path.

    Raises:
        MissingDecoder: librosa is not installed here.
    """
    settings = settings_from_recipe(features.manifest.recipe, function)
    chosen = _choose(features, sample)
    with progress(len(chosen), "comparing", "recordings") as bar:
        stored = bar.over(_stored(features, recordings, chosen))
        return compare(stored, locate(recordings.manifest.recipe.source), settings)


def _choose(features: Opened[FeaturesManifest], sample: int) -> dict[str, str]:
    """Choose the sample: paths, each with the features file that holds its windows."""

    def candidates() -> Iterator[tuple[str, str]]:
        for entry in features.files(FEATURES):
            with open_read(features.folder / entry.path) as stream:
                column = pq.ParquetFile(stream).read(columns=["path"], use_threads=False)
            for path in column.column("path").unique().to_pylist():
                yield path, entry.path

    return dict(smallest_digests(candidates(), sample))


def _stored(
    features: Opened[FeaturesManifest],
    recordings: Opened[RecordingsManifest],
    chosen: dict[str, str],
) -> Iterator[Stored]:
    listed = read_recordings(inventory_location(recordings), chosen)
    rows = {row["path"]: row for batch in listed for row in batch.to_pylist()}
    by_file: dict[str, list[str]] = defaultdict(list)
    for path, file in chosen.items():
        by_file[file].append(path)
    feature = features.manifest.recipe.feature
    for file, paths in by_file.items():
        for path, windows in read_stored(features.folder, file, feature, paths):
            # A copy has a new time: compare values.
            yield Stored({**rows[path], "modified_ns": None}, windows)
