"""Open features manifests, and refuse those that were made by different recipes."""

from collections.abc import Sequence
from dataclasses import dataclass

from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import FeaturesManifest, ShardFeature
from audioloom_manifest.parquet import feature_bytes
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.records.example import NAMES
from audioloom_runs.differences import values_that_differ
from audioloom_storage import Location, locate

from audioloom_sharder.errors import BadFeatures

#: The division into units does not change a window, so it may differ. The digest of an imported
#: table says which windows there are, as an input does for features of recordings.
_MAY_DIFFER = frozenset({"unit_bytes", "unit_recordings", "feature.parameters.table_sha256"})


@dataclass(frozen=True)
class Source:
    """One features file: its run's folder and its line in that run's list."""

    folder: Location
    entry: FileEntry

    @property
    def location(self) -> Location:
        """The location of the file."""
        return self.folder / self.entry.path


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run, in the order of their identities."""

    manifests: tuple[Opened[FeaturesManifest], ...]
    sources: tuple[Source, ...]

    @property
    def feature(self) -> ShardFeature:
        """The feature, which is equal in all inputs."""
        feature = self.manifests[0].manifest.recipe.feature
        return ShardFeature(name=feature.name, dtype=feature.dtype, shape=feature.shape)

    @property
    def where(self) -> str:
        """The text by which errors name the inputs."""
        return ", ".join(str(opened.folder) for opened in self.manifests)

    @property
    def windows(self) -> int:
        """The number of windows in all inputs, from their manifests."""
        return sum(source.entry.records or 0 for source in self.sources)

    @property
    def bytes(self) -> int:
        """The bytes of the values of all windows."""
        return self.windows * feature_bytes(self.feature)


def open_inputs(places: Sequence[str]) -> Inputs:
    """Read the features manifests at *places* (folders or the files themselves).

    Raises:
        ManifestError: one is missing, damaged, of another kind or an unknown version.
        BadFeatures: two were made by different recipes (the first difference is named), or they
            hold no windows, or a feature that shards cannot hold.
    """
    opened = [read_manifest(locate(place), "features") for place in places]
    by_identity = {one.manifest.identity: one for one in opened}
    if len(by_identity) < len(opened):
        raise BadFeatures(
            expected="each features run once",
            found="the same run twice",
            where=", ".join(str(one.folder) for one in opened),
        )
    manifests = tuple(by_identity[identity] for identity in sorted(by_identity))
    first = manifests[0]
    for other in manifests[1:]:
        _check_same_recipe(first, other)
    sources = (Source(one.folder, entry) for one in manifests for entry in one.files("features"))
    inputs = Inputs(manifests, tuple(sources))
    name = inputs.feature.name
    if name in NAMES or not name.isidentifier():
        raise BadFeatures(
            expected="a feature whose name is letters, digits and _, and none of "
            + ", ".join(NAMES),
            found=repr(name),
            where=first.location,
            hint="Records store the values under that name, beside the others.",
        )
    if not inputs.windows:
        raise BadFeatures(
            expected="windows of features",
            found="none",
            where=first.location,
            hint="The featurizer's ledger says what became of the recordings.",
        )
    return inputs


def _check_same_recipe(one: Opened[FeaturesManifest], other: Opened[FeaturesManifest]) -> None:
    for each in values_that_differ("recipe", one.manifest.recipe, other.manifest.recipe):
        if each.key not in _MAY_DIFFER:
            raise BadFeatures(
                "the features were made by different recipes",
                expected=f"{each.key} = {each.before!r} as in {one.folder}",
                found=f"{each.now!r}",
                where=other.location,
                hint="Run the featurizer with the same settings for all of them.",
            )
