"""`inspect`: show a recordings or features manifest, and the statistics of its recordings."""

from collections.abc import Iterator
from typing import Any

from audioloom_manifest.errors import WrongKind
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_runs.cost import cost_facts
from audioloom_stage.escapes import printable
from audioloom_stage.result import Result

from audioloom_featurizer.extraction.unit import LEDGER_ROLE
from audioloom_featurizer.inventory.parquet import read_tables
from audioloom_featurizer.settings import InspectSettings
from audioloom_featurizer.summary.render import as_json, as_lines, cut_section, section
from audioloom_featurizer.summary.statistics import read_statistics


def open_ours(place: str) -> Opened[Any]:
    """Open a recordings or features manifest.

    Raises:
        WrongKind: the manifest belongs to another stage.
        ManifestError: the manifest is missing or damaged.
    """
    opened = read_manifest(place)
    if not isinstance(opened.manifest, RecordingsManifest | FeaturesManifest):
        raise WrongKind(
            where=opened.location,
            expected="a recordings or features manifest",
            found=f"a {opened.manifest.kind} manifest",
            hint="Inspect it with the stage that wrote it.",
        )
    return opened


def inspect(settings: InspectSettings) -> Result:
    """Show a manifest, the statistics of its features, and with --ledger the refused recordings."""
    opened = open_ours(settings.manifest)
    refused = list(ledger_rows(opened)) if settings.ledger else []
    data = opened.manifest.to_json()
    whole: dict[str, Any] = {"location": str(opened.location), "manifest": data}
    lines = list(_lines(opened))
    if settings.contents and isinstance(opened.manifest, FeaturesManifest):
        contents = read_statistics(opened)
        whole["contents"] = as_json(contents)
        lines += as_lines(contents, opened.manifest.recipe.digest)
    else:
        lines += cut_section("labels", [*opened.manifest.stats.labels.items()])
    if settings.ledger:
        whole["ledger"] = refused
    return Result([*lines, *map(_ledger_line, refused)], whole)


def ledger_rows(opened: Opened[Any]) -> Iterator[dict[str, Any]]:
    """Read the rows of all ledger files."""
    for table in read_tables(opened, LEDGER_ROLE):
        yield from table.to_pylist()


def _lines(opened: Opened[Any]) -> Iterator[str]:
    manifest = opened.manifest
    stats = manifest.stats.model_dump(mode="json")
    del stats["labels"]
    refusals, agreement = stats.pop("refusals", {}), stats.pop("agreement", None) or {}
    recipe = manifest.recipe.model_dump(mode="json")
    feature = recipe.pop("feature", {})
    recipe.update({key: feature[key] for key in feature if key != "parameters"})
    recipe.update(feature.get("parameters", {}))
    yield from section(
        f"{manifest.kind} {manifest.name}",
        {
            "location": opened.location,
            "identity": manifest.identity,
            "created": manifest.created.isoformat(),
            "producer": f"{manifest.producer.stage} {manifest.producer.version}",
            **{f"input {ref.kind}": f"{ref.location} {ref.identity}" for ref in manifest.inputs},
            "files": manifest.files.count,
        }.items(),
    )
    yield from section("recipe", recipe.items())
    yield from section("counts", stats.items())
    yield from section("computed again", agreement.items())
    yield from section("cost", cost_facts(manifest.execution.cost).items())
    yield from section("refusals", refusals.items())


def _ledger_line(row: dict[str, Any]) -> str:
    kind, path, message = map(printable, (row["class"], row["path"], row["message"]))
    return f"refused {kind}: {path}: {message}"
