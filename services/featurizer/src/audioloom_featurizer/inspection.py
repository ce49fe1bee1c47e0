"""`inspect`: what a manifest of this stage says, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.parquet as pq
from audioloom_manifest import (
    FeaturesManifest,
    Opened,
    RecordingsManifest,
    WrongKind,
    read_manifest,
)
from audioloom_stage import Result
from audioloom_storage import open_read

from audioloom_featurizer.settings import InspectSettings
from audioloom_featurizer.unit_task import LEDGER_ROLE

MOST_LABELS = 20


def open_ours(place: str) -> Opened[Any]:
    """A recordings or features manifest.

    Raises:
        WrongKind: another stage's.
        ManifestError: none, or a damaged one.
    """
    opened = read_manifest(place)
    if not isinstance(opened.manifest, RecordingsManifest | FeaturesManifest):
        raise WrongKind(
            where=opened.location,
            expected="a recordings or features manifest",
            found=f"a {opened.manifest.kind} manifest",
            hint="The stage that wrote it inspects it.",
        )
    return opened


def inspect(settings: InspectSettings) -> Result:
    """Show a manifest, and with --ledger each recording that was refused."""
    opened = open_ours(settings.manifest)
    refused = list(ledger_rows(opened)) if settings.ledger else []
    data = {**opened.manifest.to_json(), "location": str(opened.location)}
    whole: dict[str, Any] = {"manifest": data}
    if settings.ledger:
        whole["ledger"] = refused
    return Result([*_lines(opened), *map(_ledger_line, refused)], whole)


def ledger_rows(opened: Opened[Any]) -> Iterator[dict[str, Any]]:
    """Every row of every ledger file."""
    for entry in opened.files(LEDGER_ROLE):
        with open_read(opened.folder / entry.path) as stream:
            yield from pq.read_table(stream, use_threads=False).to_pylist()


def _lines(opened: Opened[Any]) -> Iterator[str]:
    manifest = opened.manifest
    stats = manifest.stats.model_dump(mode="json")
    labels = stats.pop("labels")
    refusals = stats.pop("refusals", {})
    recipe = manifest.recipe.model_dump(mode="json")
    feature = recipe.pop("feature", {})
    recipe.update({key: feature[key] for key in feature if key != "parameters"})
    recipe.update(feature.get("parameters", {}))
    yield from _section(
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
    yield from _section("recipe", recipe.items())
    yield from _section("counts", stats.items())
    yield from _section("refusals", refusals.items())
    shown = list(labels.items())[:MOST_LABELS]
    yield from _section("labels", shown)
    if len(labels) > len(shown):
        yield f"  and {len(labels) - len(shown)} more"


def _section(title: str, items: Iterable[tuple[str, object]]) -> Iterator[str]:
    pairs = list(items)
    if not pairs:
        return
    width = max(len(key) for key, _ in pairs)
    yield title
    for key, value in pairs:
        yield f"  {key:<{width}}  {value}"


def _ledger_line(row: dict[str, Any]) -> str:
    words = (row["class"], row["path"], row["message"])
    # Names may hold line breaks and terminal codes: one row is one line, and harmless.
    kind, path, message = (word if word.isprintable() else ascii(word) for word in words)
    return f"refused {kind}: {path}: {message}"
