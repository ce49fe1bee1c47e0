"""Ties together what `shared/contracts` says: models, schemas, fixtures and frozen digests."""

import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

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
from audioloom_manifest.envelope import version_of
from audioloom_manifest.schemas import CONTRACT_FOLDERS, FROZEN, main, schema_files

CONTRACTS = Path(__file__).parents[3] / "shared" / "contracts"
KINDS = {folder: kind for kind, folder in CONTRACT_FOLDERS.items()}
SCHEMAS = sorted(CONTRACTS.glob("*/v1.*.schema.json"))
VALID = sorted(CONTRACTS.glob("*/v1.*/*.json"))
NEWEST = [path for path in VALID if path.parts[-2] == f"v{version_of(KINDS[path.parts[-3]])}"]
OLDER = [path for path in VALID if path not in NEWEST]
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
    "negative-variance": (MalformedManifest, "targets.variance"),
    "two-ways-of-splitting": (MalformedManifest, "exactly one of splits"),
}
RELEASED = {
    "v1.0": "c77f3c7d927ec1d01b8fb1c2907b52767e386b0f2f6f2df3e881babf72a40dd8",
    "v1.1 of shards": "fd7e47a2405aa77343d332ce569094c26bc2623ccedb1356bfeb5e9687890957",
}
"""The digest of the lines of each frozen version: no entry here ever becomes another."""


def ident(path: Path) -> str:
    return f"{path.parts[-3]}/{path.parts[-2]}/{path.stem}"


@pytest.mark.parametrize("path", INVALID, ids=ident)
def test_invalid_fixture_is_refused_by_name(path: Path) -> None:
    """Each way to be wrong has its error, and the text names what is wrong and where."""
    error, text = ERRORS[path.stem]
    with pytest.raises(error) as caught:
        parse_manifest(path.read_bytes(), where=path)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("path", NEWEST, ids=ident)
def test_valid_fixture_reads_back_as_the_same_bytes(path: Path) -> None:
    """A manifest that is read and written again is the same, byte for byte."""
    data = path.read_bytes()
    manifest = parse_manifest(data, where=path)
    assert data == canonical_bytes(manifest.to_json(), indent=2)
    assert manifest.kind == KINDS[path.parts[-3]]


@pytest.mark.parametrize("path", OLDER, ids=ident)
def test_an_older_minor_is_read_as_if_it_were_new(path: Path) -> None:
    """All that it says is there, and what it could not say is null."""
    old = json.loads(path.read_bytes())
    found = parse_manifest(path.read_bytes(), where=path).to_json()
    assert {None} == added(found, old)
    assert old == found


def added(found: Any, old: Any) -> set[Any]:
    """Take away what *found* has and *old* has not; the values that were taken."""
    if not isinstance(old, dict):
        return set()
    new = {found.pop(key) for key in found.keys() - old.keys()}
    return new.union(*(added(found[key], old[key]) for key in old))


@pytest.mark.parametrize("path", VALID, ids=ident)
def test_valid_fixture_fits_the_schema(path: Path) -> None:
    """What the models accept, the schema published for its version accepts."""
    schema = json.loads((path.parents[1] / f"{path.parts[-2]}.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(json.loads(path.read_bytes()))


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
    """Each version of each kind has minimal and full, and every named way to be wrong is used."""
    versions = [path.with_name(path.name.split(".schema")[0]) for path in SCHEMAS]
    expected = [each / f"{name}.json" for each in versions for name in ("full", "minimal")]
    assert sorted(expected) == VALID
    assert ERRORS.keys() == {path.stem for path in INVALID}


def test_schema_files_are_what_the_models_say() -> None:
    """The newest are generated: `python -m audioloom_manifest.schemas FOLDER`."""
    found = {path: (CONTRACTS / path).read_bytes() for path in schema_files()}
    assert schema_files() == found


def test_a_frozen_schema_is_not_written_anew(tmp_path: Path) -> None:
    """Where the models say something else they are wrong, and nothing is written."""
    path = "files-list.v1.0.schema.json"
    (tmp_path / FROZEN).write_text(f"{'0' * 64}  {path}\n")
    with pytest.raises(SystemExit, match=f"{path}: .* a later minor version"):
        main([str(tmp_path)])
    assert [FROZEN] == [each.name for each in tmp_path.iterdir()]


def sections(contracts: Path) -> dict[str, list[str]]:
    """The lines of FROZEN.sha256, by the version that they stand under."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (contracts / FROZEN).read_text().splitlines():
        if version := re.match(r"# (v\d+\.\d+[^,]*)", line):
            lines = found[version[1]] = []
        elif not line.startswith("#"):
            lines.append(line)
    return found


def broken_promises(contracts: Path) -> list[str]:
    """What is not as it was frozen, and what no version lists."""
    found = {
        str(path.relative_to(contracts)): sha256(path.read_bytes()).hexdigest()
        for path in contracts.glob("**/*.json")
    }
    problems, listed = [], set()
    for version, lines in sections(contracts).items():
        if RELEASED.get(version) != sha256("\n".join(lines).encode()).hexdigest():
            problems.append(
                f"{FROZEN}: expected the lines of {version} as they were frozen, found others:"
                " restore them, and list what is new under a later minor version"
            )
        for digest, path in (line.split("  ", 1) for line in lines):
            listed.add(path)
            if found.get(path) != digest:
                problems.append(
                    f"{path}: expected what was frozen with {version}, found"
                    f" {'other bytes' if path in found else 'nothing'}: restore it, and put what"
                    " is new beside it, in a later minor version"
                )
    problems += [
        f"{version}: its lines are gone" for version in RELEASED.keys() - sections(contracts)
    ]
    return problems + [
        f"{path}: expected a line in {FROZEN}, found none: list it under the version that adds it"
        for path in sorted(found.keys() - listed)
    ]


def change_a_file(contracts: Path) -> None:
    with (contracts / "3-shards/v1.0/full.json").open("a") as file:
        file.write("\n")


def change_a_file_and_its_line(contracts: Path) -> None:
    path = contracts / "3-shards/v1.0/full.json"
    before = sha256(path.read_bytes()).hexdigest()
    change_a_file(contracts)
    after = sha256(path.read_bytes()).hexdigest()
    frozen = contracts / FROZEN
    frozen.write_text(frozen.read_text().replace(before, after))


def remove_a_file(contracts: Path) -> None:
    (contracts / "3-shards/invalid/truncated.json").unlink()


def remove_a_version(contracts: Path) -> None:
    frozen = contracts / FROZEN
    frozen.write_text(frozen.read_text().replace("# v1.0", "# what was"))


def add_a_file(contracts: Path) -> None:
    (contracts / "3-shards/v1.0/new.json").write_text("{}")


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        (change_a_file, "full.json: expected what was frozen with v1.0, found other bytes"),
        (change_a_file_and_its_line, "expected the lines of v1.0 as they were frozen"),
        (remove_a_file, "truncated.json: expected what was frozen with v1.0, found nothing"),
        (remove_a_version, "v1.0: its lines are gone"),
        (add_a_file, "new.json: expected a line in FROZEN.sha256, found none"),
    ],
)
def test_a_change_of_what_is_frozen_is_told(
    tmp_path: Path, do: Callable[[Path], None], expected: str
) -> None:
    """Whatever is done to it, by its name and with what to do instead."""
    contracts = tmp_path / "contracts"
    shutil.copytree(CONTRACTS, contracts)
    do(contracts)
    assert expected in "\n".join(broken_promises(contracts))


def test_what_is_frozen_is_as_it_was() -> None:
    """Every schema and fixture has the digest that it was frozen with, and none is unlisted."""
    assert [] == broken_promises(CONTRACTS)
