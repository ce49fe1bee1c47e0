"""A manifest that was changed after its commit, or made up, is believed by no command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.programs import Programs
from tones import PATTERN, write_tones
from verdict import refused

BAD_DATA = 65
OTHER = "sha256:" + "0" * 64
READERS: dict[str, list[tuple[str, ...]]] = {
    "recordings": [("featurizer", verb) for verb in ("inspect", "plan", "run", "verify")],
    "features": [
        *(("featurizer", verb) for verb in ("inspect", "retry", "verify")),
        ("sharder", "plan"),
        ("sharder", "run"),
    ],
    "shards": [("sharder", "inspect"), ("sharder", "verify"), ("trainer", "run")],
    "training-run": [
        *(("trainer", verb) for verb in ("inspect", "verify", "evaluate")),
        ("trainer", "export", "--to", "elsewhere"),
        *(("yarn-launcher", verb) for verb in ("status", "explain")),
    ],
}
FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "identity": lambda value: value.update(identity=OTHER),
    "recipe": lambda value: value["recipe"].update(algorithm=value["recipe"]["algorithm"] + 1),
    "input": lambda value: value["inputs"].append(
        {"kind": "recordings", "name": "a", "location": "recordings/a", "identity": OTHER,
         "sha256": "0" * 64}
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def manifests(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Each kind of manifest, committed by the stage that writes it."""
    folder = tmp_path_factory.mktemp("archive")
    write_tones(folder / "source")
    root = str(folder / "root")
    made: dict[str, str] = {}

    def make(kind: str, *words: str) -> None:
        made[kind] = programs.run("attack", *words)

    source = str(folder / "source")
    make("recordings", "featurizer", "scan", source, "--root", root, "--pattern", PATTERN)
    make("features", "featurizer", "run", made["recordings"], "--master", "local[1]")
    make("shards", "sharder", "run", made["features"], "--lanes", "1")
    make("training-run", "trainer", "run", made["shards"], "--epochs", "1")
    return made


@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize(
    ("kind", "words"), [(kind, words) for kind, each in READERS.items() for words in each]
)
def test_a_forged_manifest_is_believed_by_nobody(
    programs: Programs, manifests: dict[str, str], kind: str, words: tuple[str, ...], what: str
) -> None:
    """Exit code 65 and an empty stdout; the manifest and both identities are named."""
    path = Path(manifests[kind])
    whole = path.read_text()
    value = json.loads(whole)
    FORGERIES[what](value)
    path.write_text(json.dumps(value))
    program, verb, *more = words
    try:
        command = [programs.paths[program], verb, str(path), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        path.write_text(whole)
    named = all(text in done.stderr for text in (str(path), value["identity"], "made up"))
    refused(
        f"{program} {verb} with another {what} in its {kind} manifest",
        held=(done.returncode, done.stdout) == (BAD_DATA, "") and named,
    )
