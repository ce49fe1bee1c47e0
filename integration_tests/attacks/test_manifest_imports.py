"""What a run's manifest or architecture names is never imported, called, loaded or read."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_quickstart.programs import Programs
from tones import PATTERN, write_tones
from verdict import refused

CONFIGURATION = 78
PLANTED = "import pathlib, os\npathlib.Path(os.environ['TRACE']).touch()\ndef build(**_): ...\n"
IDENTIFY = """
import json, pathlib, sys
from audioloom_manifest.identity import run_identity
where = pathlib.Path(sys.argv[1])
value = json.loads(where.read_text())
listed = where.with_name(value["files"]["name"]).read_bytes()
value["identity"] = run_identity(value, listed)
where.write_text(json.dumps(value))
"""


@pytest.fixture(scope="module")
def run(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of a run, of a function that the network's file does not hold."""
    folder = tmp_path_factory.mktemp("archive")
    write_tones(folder / "source")
    model = folder / "model.py"
    model.write_text("from audioloom_trainer.networks import conv1d as build\n")
    root = str(folder / "root")
    scan = ("scan", str(folder / "source"), "--root", root, "--pattern", PATTERN)
    recordings = programs.run("attack", "featurizer", *scan)
    features = programs.run("attack", "featurizer", "run", recordings, "--master", "local[1]")
    shards = programs.run("attack", "sharder", "run", features, "--lanes", "1")
    train = ("run", shards, "--epochs", "1", "--model", f"{model}:build")
    return Path(programs.run("attack", "trainer", *train))


@pytest.fixture
def forged(run: Path) -> Iterator[Path]:
    """The manifest, which is as it was afterwards, with all that lies beside it."""
    before = {path: path.read_bytes() for path in run.parent.rglob("*") if path.is_file()}
    yield run
    for path in [path for path in run.parent.rglob("*") if path.is_file()]:
        if path in before:
            path.write_bytes(before[path])
        else:
            path.unlink()


def forge(programs: Programs, where: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest as a forger would: its identity is right again."""
    value = json.loads(where.read_text())
    change(value)
    where.write_text(json.dumps(value))
    python = Path(programs.paths["trainer"]).with_name("python")
    subprocess.run([python, "-c", IDENTIFY, str(where)], check=True)


def forge_architecture(
    programs: Programs, where: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    """Change the architecture, and all the digests on the way to the identity."""
    reference = json.loads(where.read_text())["files"]
    entries = [
        json.loads(line) for line in (where.parent / reference["name"]).read_text().splitlines()
    ]
    (entry,) = [each for each in entries if each["role"] == "model"]
    path = where.parent / entry["path"]
    value = json.loads(path.read_bytes())
    change(value)
    data = json.dumps(value).encode()
    path.write_bytes(data)
    entry.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    lines = [json.dumps(each, sort_keys=True, separators=(",", ":")) + "\n" for each in entries]
    listed = "".join(lines).encode()
    digest = hashlib.sha256(listed).hexdigest()
    name = f"files-{digest[:12]}.jsonl"
    (where.parent / name).write_bytes(listed)
    new = {"name": name, "sha256": digest, "count": len(entries), "bytes": len(listed)}
    forge(programs, where, lambda value: value.update(files=new))


def tried(programs: Programs, run: Path, folder: Path) -> tuple[list[int], bool]:
    """Let every reader of a run work beside what was planted; exit codes, and whether it ran."""
    trace = folder / "trace"
    environment = {**os.environ, "PYTHONPATH": str(folder), "TRACE": str(trace)}
    codes = [
        subprocess.run(
            [programs.paths["trainer"], verb, str(run), *more],
            check=False,
            capture_output=True,
            cwd=folder,
            env=environment,
        ).returncode
        for verb, *more in (
            ["evaluate", "--split", "train"],
            ["inspect"],
            ["verify"],
            ["export", "--to", str(folder / "elsewhere")],
        )
    ]
    return codes, trace.exists()


@pytest.mark.parametrize(
    "function", ["planted:build", "planted.py:build", "os:system", "subprocess:run", "pip:main"]
)
def test_a_function_that_a_manifest_names_is_not_imported(
    programs: Programs, forged: Path, tmp_path: Path, function: str
) -> None:
    """With the right digest; the model is built of Keras's own classes, or not at all."""
    planted = tmp_path / "planted.py"
    planted.write_text(PLANTED)
    name = function.partition(":")[0]
    file = planted if name.startswith("planted") else Path(os.__file__)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    model = {"function": function, "sha256": digest, "revision": None}
    model["arguments"] = {"hook": "x"}
    forge(programs, forged, lambda value: value["recipe"].update(model=model))
    codes, ran = tried(programs, forged, tmp_path)
    refused(f"a manifest that names {function}", held=codes[0] == 0 and not ran)


def part(module: str, name: str, /, **config: object) -> dict[str, Any]:
    """As Keras writes an object."""
    return {"module": module, "class_name": name, "config": config, "registered_name": None}


FUNCTION = {"class_name": "function", "registered_name": "function"}
PARTS: dict[str, dict[str, Any]] = {
    "os.system": {**FUNCTION, "module": "os", "config": "system"},
    "a planted function": {**FUNCTION, "module": "planted", "config": "build"},
    "a planted class": part("planted", "build"),
    "a planted module below keras": part("keras.planted", "build"),
    "a class in site-packages": part("numpy", "memmap", filename="/etc/passwd"),
    "Lambda": part("keras.layers", "Lambda", function="build", arguments={}),
    "code": {"class_name": "__lambda__", "config": {"value": "4wEAAAA="}},
    "a download": {**FUNCTION, "module": "keras.utils", "config": "get_file"},
    "a SavedModel": part("keras.layers", "TFSMLayer", filepath="/srv/x"),
    "a pickle": part("keras.layers", "TorchModuleWrapper", module="gASVAAAA"),
    "a file of words": part("keras.layers", "StringLookup", vocabulary="/etc/passwd"),
}


@pytest.mark.parametrize("what", PARTS)
def test_a_part_of_an_architecture_is_not_loaded(
    programs: Programs, forged: Path, tmp_path: Path, what: str
) -> None:
    """As a layer's activation and as a layer."""
    (tmp_path / "planted.py").write_text(PLANTED)

    def change(value: dict[str, Any]) -> None:
        layers = value["config"]["layers"]
        layers[-1]["config"]["activation"] = PARTS[what]
        layers[1] |= PARTS[what]

    forge_architecture(programs, forged, change)
    codes, ran = tried(programs, forged, tmp_path)
    held = codes[0] == CONFIGURATION and not ran
    refused(f"an architecture with {what}", held=held)
