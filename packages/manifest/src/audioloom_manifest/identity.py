"""Names and identities: why a rerun of one stage does not ripple through the others.

The *name* of a run is known before it starts, from what it is asked to do: a digest of its kind,
its recipe and the identities of its inputs. The *identity* is known at its end and adds what came
out: the checksums of the data files. Where, when, by whom and how fast is in neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import product
from typing import Any

from audioloom_storage import Location

from audioloom_manifest.canonical import canonical_bytes, digest
from audioloom_manifest.envelope import (
    DERIVED,
    FOLDERS,
    MANIFEST_NAME,
    Envelope,
    FileEntry,
    Kind,
    Recipe,
)
from audioloom_manifest.errors import MalformedManifest, UnsupportedVersion, WrongIdentity

NAME_DIGITS = 16
MOST_UNKNOWN = 8
"""Unknown fields of a recipe up to which an identity is recomputed: twice the digests for each."""


def run_name(kind: Kind, recipe: Recipe, inputs: Iterable[str]) -> str:
    """The name of the run that *recipe* makes of inputs with these identities (16 hex digits)."""
    return digest(_basis(kind, recipe, inputs))[:NAME_DIGITS]


def run_identity(
    kind: Kind, recipe: Recipe, inputs: Iterable[str], files: Iterable[FileEntry]
) -> str:
    """The identity of a finished run: its basis and the content of its files, in any order.

    Derived files may hold times and places, so they are passed over.
    """
    return _identity(_basis(kind, recipe, inputs), _content(kind, files))


def check_identity(
    manifest: Envelope, recipe: Mapping[str, Any], files: Iterable[FileEntry], *, where: object
) -> None:
    """Refuse a manifest whose identity is not that of its recipe, its inputs and its files.

    A field of the recipe that a later minor version added is in the identity unless it has the
    value that means "as before", which only that version knows: either is taken.

    Args:
        manifest: as it was read, without what is unknown here.
        recipe: its recipe as it stands in the file, with what is unknown here.
        files: the list of its files.
        where: the manifest, for errors.

    Raises:
        WrongIdentity: it, or its list of files, was changed or made up.
        MalformedManifest: an unknown field holds what cannot be written as JSON again.
        UnsupportedVersion: it has too many unknown fields to tell.
    """
    inputs = [reference.identity for reference in manifest.inputs]
    basis = _basis(manifest.kind, manifest.recipe, inputs)
    unknown = list(_unknown(recipe, manifest.recipe.model_dump(mode="json")))
    if len(unknown) > MOST_UNKNOWN:
        raise UnsupportedVersion(
            where=where,
            expected=f"at most {MOST_UNKNOWN} unknown fields in the recipe",
            found=f"{len(unknown)} of version {manifest.version}",
            hint="A later release of this stage reads it; upgrade the stage.",
        )
    content = _content(manifest.kind, files)
    try:
        found = [
            _identity({**basis, "recipe": _with_fields(basis["recipe"], unknown, taken)}, content)
            for taken in product((True, False), repeat=len(unknown))
        ]
    except (RecursionError, ValueError) as error:  # of an unknown field, which nobody checked
        raise MalformedManifest(
            where=where, expected="a recipe that can be written again", found=str(error)
        ) from None
    if manifest.identity not in found:
        raise WrongIdentity(
            where=where,
            expected=f"the identity of its recipe, inputs and files, {found[0]}",
            found=manifest.identity,
            hint="It was changed after the commit, or made up: restore it with its list of files,"
            " or rerun the stage that wrote it under another name.",
        )


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


def _content(kind: Kind, files: Iterable[FileEntry]) -> Any:
    """What the files add to the digest, already taken up: there may be very many of them."""
    derived = DERIVED.get(kind, frozenset())
    content = sorted(
        [entry.role, entry.path, entry.sha256] for entry in files if entry.role not in derived
    )
    return hashlib.sha256(b'{"content":' + canonical_bytes(content))


def _identity(basis: Mapping[str, Any], content: Any) -> str:
    """The digest of the basis and the content in one object, where the key content comes first."""
    whole = content.copy()
    whole.update(b"," + canonical_bytes(basis)[1:])
    return "sha256:" + str(whole.hexdigest())


def _unknown(
    found: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The fields, each with those that it lies in, that the model of this release does not have."""
    for key, value in found.items():
        if key not in known:
            yield (*above, key), value
        elif isinstance(value, dict) and isinstance(known[key], dict):
            yield from _unknown(value, known[key], (*above, key))


def _with_fields(
    recipe: Mapping[str, Any],
    fields: Iterable[tuple[tuple[str, ...], Any]],
    taken: Iterable[bool],
) -> dict[str, Any]:
    whole = deepcopy(dict(recipe))
    for (path, value), taken_too in zip(fields, taken, strict=True):
        if taken_too:
            place = whole
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = value
    return whole
