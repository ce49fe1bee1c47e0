"""Names and identities: why a rerun of one stage does not ripple through the others.

The *name* of a run is known before it starts, from what it is asked to do: a digest of its kind,
its recipe and the identities of its inputs. The *identity* is known at its end and adds what came
out: the list of data files and the statistics. Where, when, by whom and how fast is in neither.
Both are digests of what stands in the file, fields that this release does not know included.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import DERIVED, Kind, Recipe

NAME_DIGITS = 16


def run_name(kind: Kind, recipe: Recipe, inputs: Iterable[str]) -> str:
    """The name of the run that *recipe* makes of inputs with these identities (16 hex digits)."""
    # Input order is kept: a stage for which it does not matter sorts before it asks.
    return digest({"kind": kind, "recipe": recipe.to_json(), "inputs": list(inputs)})[:NAME_DIGITS]


def run_identity(manifest: Mapping[str, Any], listed: bytes) -> str:
    """The identity of a finished run.

    Args:
        manifest: as a JSON object.
        listed: the list of its files, which is sorted by path. Derived files may hold times and
            places, so their lines are passed over.
    """
    derived = DERIVED.get(manifest["kind"], frozenset())
    if derived:
        lines = [line + b"\n" for line in listed.split(b"\n") if line]
        listed = b"".join(line for line in lines if json.loads(line)["role"] not in derived)
    basis = {
        "kind": manifest["kind"],
        "recipe": manifest["recipe"],
        "inputs": [each["identity"] for each in manifest["inputs"]],
        "files": hashlib.sha256(listed).hexdigest(),
        "stats": digest(manifest["stats"]),
    }
    return f"sha256:{digest(basis)}"
