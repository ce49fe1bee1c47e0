"""The names and identities of runs, which keep a rerun of one stage from changing the others.

The *name* of a run is known before it starts: a digest of its kind, its recipe and the identities
of its inputs. The *identity* is known at its end and adds the list of data files and the
statistics. Neither depends on place, time, user or speed. Both include fields that this release
does not know.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import DERIVED, Kind, Recipe
from audioloom_manifest.errors import WrongIdentity
from audioloom_manifest.fields import to_json

NAME_DIGITS = 16


def run_name(kind: Kind, recipe: Recipe, inputs: Iterable[str]) -> str:
    """Compute the name of a run (16 hex digits) from its recipe and its inputs' identities."""
    # Input order counts: a stage for which it does not matter sorts the inputs first.
    return digest({"kind": kind, "recipe": to_json(recipe), "inputs": list(inputs)})[:NAME_DIGITS]


def run_identity(manifest: Mapping[str, Any], listed: bytes) -> str:
    """Compute the identity of a finished run.

    Args:
        manifest: as a JSON object.
        listed: the list of its files, sorted by path. Lines of derived files are ignored, because
        such files may hold times and places.
    """
    derived = DERIVED.get(manifest["kind"], frozenset())
    if derived:
        lines = [line + b"\n" for line in listed.split(b"\n") if line]
        listed = b"".join(line for line in lines if _role(line) not in derived)
    basis = {
        "kind": manifest["kind"],
        "recipe": manifest["recipe"],
        "inputs": [each["identity"] for each in manifest["inputs"]],
        "files": hashlib.sha256(listed).hexdigest(),
        "stats": digest(manifest["stats"]),
    }
    return f"sha256:{digest(basis)}"


def _role(line: bytes) -> str:
    return str(json.loads(line)["role"])


def check_identity(manifest: Mapping[str, Any], listed: bytes, *, where: object) -> None:
    """Refuse a manifest whose identity does not match its content and its list of files.

    Raises:
        WrongIdentity: the manifest or its list of files was changed.
    """
    if manifest["identity"] != (found := run_identity(manifest, listed)):
        raise WrongIdentity(
            where=where,
            expected=f"the identity of its recipe, inputs, files and statistics, {found}",
            found=manifest["identity"],
            hint="It was changed after the commit, or made up: restore it with its list of files,"
            " or rerun the stage that wrote it under another name.",
        )
