"""Ties together what `shared/contracts` holds: text, models, schemas, cases and frozen digests."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from audioloom_manifest.envelope import FILES_VERSION, Kind, version_of
from audioloom_manifest.layout import FOLDERS

CONTRACTS = Path(__file__).parents[3] / "shared" / "contracts"
CASES = CONTRACTS / "conformance" / "cases"
FROZEN = "FROZEN.sha256"
SPEC = (CONTRACTS / "SPEC.md").read_text()
CASE_OF = {path.name: json.loads((path / "case.json").read_bytes()) for path in CASES.glob("*")}
READ = {name: case["expected"] for name, case in CASE_OF.items() if "files" in case["expected"]}
RELEASED = {"1.0": "8d989fed7134ebd84fbf824fe172a31c25c3c394e441d3ca97a33429fb43ceb7"}
"""The digest of the lines of each frozen version: no entry here ever becomes another."""


DRAFTS = {"1.1"}
"""Versions that may still change; their files are listed as well."""


def schema(name: str, version: str) -> Any:
    """The schema of a kind, or of an entry of a files list."""
    return json.loads((CONTRACTS / f"schemas/{name}-{version}.schema.json").read_bytes())


def newest(kind: str) -> Any:
    """The schema of a kind as it is written now."""
    return schema(kind, version_of(cast("Kind", kind)))


@pytest.mark.parametrize("name", sorted(READ))
def test_what_is_read_fits_the_schema(name: str) -> None:
    """What the models accept, the schema published for the kind accepts."""
    manifest = READ[name]["manifest"]
    version = min(manifest["version"], version_of(manifest["kind"]))  # a later one is cut to ours
    whole = schema(manifest["kind"], version)
    jsonschema.Draft202012Validator(whole).validate(manifest)
    for entry in READ[name]["files"]:
        jsonschema.Draft202012Validator(schema("file-entry", FILES_VERSION)).validate(entry)


def write_schemas(contracts: Path, frozen: str) -> str:
    """Write the schemas below a folder, where this is frozen; return what is said to it."""
    (contracts / FROZEN).write_text(frozen)
    command = [sys.executable, CONTRACTS / "write_schemas.py", contracts]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_schema_files_are_what_the_models_say(tmp_path: Path) -> None:
    """The newest are generated: `python shared/contracts/write_schemas.py FOLDER`."""
    assert "" == write_schemas(tmp_path, "")
    made = files_below(tmp_path / "schemas")
    assert 1 + len(FOLDERS) == len(made)
    assert made == {name: (CONTRACTS / "schemas" / name).read_bytes() for name in made}


def test_the_cases_are_those_of_the_generator(tmp_path: Path) -> None:
    """`python shared/contracts/conformance/generate.py`, which knows nothing of the reader."""
    made = tmp_path / "cases"
    subprocess.run([sys.executable, CASES.parent / "generate.py", made], check=True)
    assert files_below(made) == files_below(CASES)


def files_below(folder: Path) -> dict[str, bytes]:
    """The content of each file, by its path."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


# --- the text ------------------------------------------------------------------------------------

CLAUSES = dict(re.findall(r"^\*\*(\d+\.\d+)\*\* ((?:.+\n)+)", SPEC, re.MULTILINE))


def test_every_clause_that_a_reader_checks_has_a_case() -> None:
    """MUST is checked by a reader; and no case names a clause that is not there."""
    musts = {number for number, text in CLAUSES.items() if "MUST" in text}
    named = {clause for case in CASE_OF.values() for clause in case["clauses"]}
    assert set() == musts - named
    assert set() == named - CLAUSES.keys()
    assert len(CASE_OF) >= 100


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_example_of_a_kind_is_a_case(kind: str) -> None:
    """The complete manifest in the text is one that the reader reads."""
    examples = [json.loads(text) for text in re.findall(r"```json\n(\{.*?\n)```", SPEC, re.DOTALL)]
    (example,) = [each for each in examples if each.get("kind") == kind]
    assert READ[f"{kind}-1.1-complete"]["manifest"] == example


def fields(whole: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields of a schema, with those of the objects in them, and whether each is required."""

    def below(part: dict[str, Any], above: str) -> Iterator[tuple[str, str]]:
        for field, each in part["properties"].items():
            required = "required" if field in part["required"] else "optional"
            yield f"{above}{field}", required
            for text in re.findall(r"#/\$defs/(\w+)", json.dumps(each)):
                many = (
                    ".*"
                    if re.search(r'(additional|pattern)Properties": {', json.dumps(each))
                    else ""
                )
                yield from below(whole["$defs"][text], f"{above}{field}{many}.")

    return below(whole, "")


def table(*titles: str) -> set[tuple[str, str]]:
    """The fields in the tables of these sections of the text."""
    found: set[tuple[str, str]] = set()
    for title in titles:
        section = re.search(rf"^#+ {title}\n(.*?)(?=^#+ |\Z)", SPEC, re.MULTILINE | re.DOTALL)
        assert section, title
        rows = re.findall(
            r"^\| `([\w.*-]+)` \| [^|]+ \| (\w+) \| 1\.[01] \|", section[1], re.MULTILINE
        )
        found |= set(rows)
    return found


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_table_of_a_kind_has_its_fields(kind: str) -> None:
    """Each field of recipe and stats once, and whether it may be absent."""
    expected = {each for each in fields(newest(kind)) if each[0].startswith(("recipe.", "stats."))}
    assert expected == table(f"Fields of `{kind}`")


def test_the_table_of_the_envelope_has_its_fields() -> None:
    """The fields that all kinds share."""
    expected = {
        each for each in fields(newest("features")) if not each[0].startswith(("recipe.", "stats."))
    }
    assert expected == table("Fields of every manifest")


def test_the_table_of_an_entry_has_its_fields() -> None:
    """The fields of a line of the files list."""
    assert set(fields(schema("file-entry", FILES_VERSION))) == table("Fields of an entry")


# --- what is frozen ------------------------------------------------------------------------------


def test_a_frozen_schema_is_not_written_anew(tmp_path: Path) -> None:
    """Where the models say something else they are wrong, and nothing is written."""
    path = "schemas/file-entry-1.1.schema.json"
    said = write_schemas(tmp_path, f"{'0' * 64}  {path}\n")
    assert re.search(f"{path}: .* a later minor version", said)
    assert [FROZEN] == [each.name for each in tmp_path.iterdir()]


def sections(contracts: Path) -> dict[str, list[str]]:
    """The lines of FROZEN.sha256, by the version that they stand under."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (contracts / FROZEN).read_text().splitlines():
        if version := re.match(r"# (\d+\.\d+[^,]*)", line):
            lines = found[version[1]] = []
        elif not line.startswith("#"):
            lines.append(line)
    return found


def broken_promises(contracts: Path) -> list[str]:
    """What is not as it was frozen, and what no version lists."""
    found = {
        str(path.relative_to(contracts)): sha256(path.read_bytes()).hexdigest()
        for folder in ("schemas", "conformance/cases")
        for path in (contracts / folder).rglob("*")
        if path.is_file()
    }
    problems, listed = [], set()
    for version, lines in sections(contracts).items():
        if (
            version not in DRAFTS
            and RELEASED.get(version) != sha256("\n".join(lines).encode()).hexdigest()
        ):
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


A_FILE = "conformance/cases/shards-complete/case.json"


def change_a_file(contracts: Path) -> None:
    with (contracts / A_FILE).open("a") as file:
        file.write("\n")


def change_a_file_and_its_line(contracts: Path) -> None:
    before = sha256((contracts / A_FILE).read_bytes()).hexdigest()
    change_a_file(contracts)
    after = sha256((contracts / A_FILE).read_bytes()).hexdigest()
    frozen = contracts / FROZEN
    frozen.write_text(frozen.read_text().replace(before, after))


def remove_a_file(contracts: Path) -> None:
    (contracts / A_FILE).unlink()


def remove_a_version(contracts: Path) -> None:
    frozen = contracts / FROZEN
    frozen.write_text(frozen.read_text().replace("# 1.0", "# what was"))


def add_a_file(contracts: Path) -> None:
    (contracts / "schemas/shards-1.9.schema.json").write_text("{}")


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        (change_a_file, "case.json: expected what was frozen with 1.0, found other bytes"),
        (change_a_file_and_its_line, "expected the lines of 1.0 as they were frozen"),
        (remove_a_file, "case.json: expected what was frozen with 1.0, found nothing"),
        (remove_a_version, "1.0: its lines are gone"),
        (add_a_file, "1.9.schema.json: expected a line in FROZEN.sha256, found none"),
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
    """Every schema and case has the digest that it was frozen with, and none is unlisted."""
    assert [] == broken_promises(CONTRACTS)
    check = [shutil.which("sha256sum") or "", "--check", "--strict", "--quiet", FROZEN]
    subprocess.run(check, cwd=CONTRACTS, check=True)
