"""The recipe of imported features, which says of the values what a table can say.

The engine `import` marks them. Instead of an input the recipe has the digest of the table's
content, so the same windows make the same run, in whatever order and files they are.
"""

from audioloom_manifest.kinds import Feature, FeaturesManifest, FeaturesRecipe
from audioloom_manifest.publication import Plan
from audioloom_manifest.reader import Opened
from audioloom_storage import Location

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.settings import ImportSettings
from audioloom_featurizer.tables.values import ValuesForm

ALGORITHM = 1
"""Raised when an equal table would give other bytes, so that old runs keep their names."""

ENGINE = "import"
DEFAULT_RATE = 16000

FILE_BYTES = 256 << 20
"""Values in a file, unless one recording has more."""

FILE_WINDOWS = 65_536
"""Windows in a file, unless one recording has more: readers hold the other columns of a file."""


def is_imported(recipe: FeaturesRecipe) -> bool:
    """Whether the features came from a table, so that there are no recordings behind them."""
    return recipe.engine == ENGINE


def check_not_imported(opened: Opened[FeaturesManifest]) -> None:
    """Raise `InvalidOption` if the features came from a table."""
    if is_imported(opened.manifest.recipe):
        raise InvalidOption(
            "imported features have no recordings",
            where=opened.location,
            expected="features that `run` made of recordings",
            found=f"the engine {ENGINE}",
            hint="Import the table again if it has changed.",
        )


def plan_import(
    settings: ImportSettings, form: ValuesForm, sha256: str, *, mixed: bool, root: Location
) -> tuple[Plan, FeaturesRecipe]:
    """Plan the run of a table with this content; also return its recipe.

    The feature has the parameters of every feature, null for what a table does not say. *mixed*
    says that each window is of all channels together.
    """
    feature = Feature(
        name=settings.feature_name,
        dtype=settings.dtype,
        shape=form.shape,
        sample_rate=settings.sample_rate or DEFAULT_RATE,
        parameters={
            "window_seconds": settings.window_seconds,
            "hop_seconds": None,
            "normalise": None,
            "table_sha256": sha256,
        },
    )
    recipe = FeaturesRecipe(
        algorithm=ALGORITHM,
        feature=feature,
        engine=ENGINE,
        windows="all",
        channels="mix" if mixed else "split",
        headerless=None,
        unit_bytes=FILE_BYTES,
        unit_recordings=FILE_WINDOWS,
    )
    return Plan.of("features", recipe, (), root, settings.name), recipe
