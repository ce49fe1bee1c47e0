"""Names and identities: why a rerun of one stage does not ripple through the others.

The *name* of a run is known before it starts, from what it is asked to do: a digest of its kind,
its recipe and the identities of its inputs. The *identity* is known at its end and adds what came
out: the checksums of the data files. Where, when, by whom and how fast is in neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from audioloom_storage import Location

from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import (
    DERIVED,
    FOLDERS,
    MANIFEST_NAME,
    FileEntry,
    Kind,
    Recipe,
)

NAME_DIGITS = 16


def run_name(kind: Kind, recipe: Recipe, inputs: Iterable[str]) -> str:
    """The name of the run that *recipe* makes of inputs with these identities (16 hex digits)."""
    return digest(_basis(kind, recipe, inputs))[:NAME_DIGITS]


def run_identity(
    kind: Kind, recipe: Recipe, inputs: Iterable[str], files: Iterable[FileEntry]
) -> str:
    """The identity of a finished run: its basis and the content of its files, in any order.

    Derived files may hold times and places, so they are passed over.
    """
    derived = DERIVED.get(kind, frozenset())
    content = sorted(
        [entry.role, entry.path, entry.sha256] for entry in files if entry.role not in derived
    )
    return "sha256:" + digest({**_basis(kind, recipe, inputs), "content": content})


def run_folder(root: Location, kind: Kind, name: str) -> Location:
    """The folder of a run: `<root>/<folder of the kind>/<name>`."""
    return root / FOLDERS[kind] / name


def manifest_location(folder: Location) -> Location:
    """The manifest of a run folder."""
    return folder / MANIFEST_NAME


def root_of(folder: Location) -> Location:
    """The root that a run folder lies under, by the layout."""
    return folder.parent.parent


def _basis(kind: Kind, recipe: Recipe, inputs: Iterable[str]) -> dict[str, Any]:
    # Input order is kept: a stage for which it does not matter sorts before it asks.
    return {
        "kind": kind,
        "recipe": recipe.model_dump(mode="json", exclude_defaults=True),
        "inputs": list(inputs),
    }
