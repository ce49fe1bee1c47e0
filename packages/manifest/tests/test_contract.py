"""Ties together what `shared/contracts` says: models, schemas, fixtures and frozen digests."""

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from audioloom_manifest import (
    MalformedManifest,
    ManifestError,
    UnknownKind,
    UnsupportedVersion,
    canonical_bytes,
    parse_manifest,
)
from audioloom_manifest.schemas import CONTRACT_FOLDERS, json_schema, schema_files

CONTRACTS = Path(__file__).parents[3] / "shared" / "contracts"
KINDS = {folder: kind for kind, folder in CONTRACT_FOLDERS.items()}
VALID = sorted(CONTRACTS.glob("*/v1.*/*.json"))
INVALID = sorted(CONTRACTS.glob("*/invalid/*.json"))
ERRORS: dict[str, tuple[type[ManifestError], str]] = {
    "unsupported-major": (UnsupportedVersion, "2.0"),
    "unknown-kind": (UnknownKind, "spectrogram"),
    "missing-identity": (MalformedManifest, "identity"),
    "missing-digest": (MalformedManifest, "files.sha256"),
    "unknown-field": (MalformedManifest, "colour"),
    "unknown-recipe-field": (MalformedManifest, "recipe.colour"),
    "files-list-leaves-folder": (MalformedManifest, "files.name"),
    "negative-count": (MalformedManifest, "files.count"),
    "number-as-text": (MalformedManifest, "recipe.algorithm"),
    "name-with-slash": (MalformedManifest, "name"),
    "time-without-zone": (MalformedManifest, "created"),
    "truncated": (MalformedManifest, "JSON"),
    "duplicate-key": (MalformedManifest, "twice"),
    "not-a-number": (MalformedManifest, "NaN"),
    "empty": (MalformedManifest, "an empty file"),
    "shards-not-a-multiple-of-lanes": (MalformedManifest, "25 shards"),
    "two-sizes": (MalformedManifest, "exactly one"),
    "shares-over-one": (MalformedManifest, "add up"),
    "compression-of-another-format": (MalformedManifest, "one of none, zlib, zstd"),
    "two-ways-of-splitting": (MalformedManifest, "exactly one of splits"),
}


def ident(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


@pytest.mark.parametrize("path", INVALID, ids=ident)
def test_invalid_fixture_is_refused_by_name(path: Path) -> None:
    """Each way to be wrong has its error, and the text names what is wrong and where."""
    error, text = ERRORS[path.stem]
    with pytest.raises(error) as caught:
        parse_manifest(path.read_bytes(), where=path)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("path", VALID, ids=ident)
def test_valid_fixture_reads_back_as_the_same_bytes(path: Path) -> None:
    """A manifest that is read and written again is the same, byte for byte."""
    data = path.read_bytes()
    manifest = parse_manifest(data, where=path)
    assert data == canonical_bytes(manifest.to_json(), indent=2)
    assert manifest.kind == KINDS[path.parts[-3]]


@pytest.mark.parametrize("path", VALID, ids=ident)
def test_valid_fixture_fits_the_schema(path: Path) -> None:
    """What the models accept, the published schema accepts."""
    jsonschema.Draft202012Validator(json_schema(KINDS[path.parts[-3]])).validate(
        json.loads(path.read_bytes())
    )


@pytest.mark.parametrize("path", VALID, ids=ident)
def test_newer_minor_is_read_and_its_fields_passed_over(path: Path) -> None:
    """A manifest of version 1.7 with fields from the future reads like one without them."""
    value = json.loads(path.read_bytes())
    now = parse_manifest(canonical_bytes(value), where=path)
    value |= {"version": "1.7", "future": {"a": 1}}
    value["recipe"]["future"] = True
    later = parse_manifest(canonical_bytes(value), where=path)
    assert now.to_json() | {"version": "1.7"} == later.to_json()


def test_every_kind_has_its_fixtures() -> None:
    """Four kinds, each with minimal and full, and every named way to be wrong is used."""
    expected = sorted(f"{folder}/{name}" for folder in KINDS for name in ("minimal", "full"))
    assert expected == sorted(ident(path) for path in VALID)
    assert ERRORS.keys() == {path.stem for path in INVALID}


def test_schema_files_are_what_the_models_say() -> None:
    """The files are generated; to renew a draft: `python -m audioloom_manifest.schemas FOLDER`."""
    found = {
        str(path.relative_to(CONTRACTS)): path.read_bytes()
        for path in CONTRACTS.glob("**/*.schema.json")
    }
    assert schema_files() == found


def test_frozen_digests() -> None:
    """No schema and no fixture changes unnoticed: FROZEN.sha256 lists them all."""
    lines = (CONTRACTS / "FROZEN.sha256").read_text().splitlines()
    frozen = dict(reversed(line.split("  ", 1)) for line in lines if not line.startswith("#"))
    found = {
        str(path.relative_to(CONTRACTS)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in CONTRACTS.glob("**/*.json")
    }
    assert frozen == found
