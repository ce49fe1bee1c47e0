"""Secrets are in nothing that is written or said, and names from an archive steer no terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from audioloom_quickstart.programs import Programs
from tones import PATTERN, write_tones
from verdict import refused

LABELS = ("lo\x1b]0;owned\x07w", "hi\u202egh\x9b31m")
SECRET = "swordfish"  # noqa: S105
USAGE, CONFIGURATION = 2, 78

IN_WORDS = (
    f"--password={SECRET}-1",
    *("--token", f"{SECRET}-2"),
    *("-p", f"{SECRET}-3"),
    *("--auth", f"{SECRET}-4"),
    f"https://me:{SECRET}-5@host/x?sig={SECRET}-6&a=b",
    *("-H", f"Authorization: Bearer {SECRET}-7"),
    f"HF_TOKEN={SECRET}-8",
    f'{{"api_key": "{SECRET}-9"}}',
)
KNOWS = """
import sys
words = " ".join(sys.argv)
print("\\x1b[2J\\x9b31m\\u202e", flush=True)
sys.exit(0 if all(f"{'sword' + 'fish'}-{n}" in words for n in range(1, 10)) else 3)
"""
MODEL = """
import keras
from audioloom_trainer.networks import conv1d


def build(shape, classes, hf_token, say=False):
    if hf_token != "SWORD" + "fish-0":
        raise ValueError("not the value of the variable")
    if say:
        raise ValueError(f"no access with {hf_token}")
    return conv1d(shape, classes)
"""


@dataclass
class Attack:
    """The stages, a folder of all that they write, and all that they said."""

    programs: Programs
    folder: Path
    said: list[str] = field(default_factory=list)

    def run(self, program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a stage; what it says is kept."""
        done = subprocess.run(
            [self.programs.paths[program], *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, **variables},
        )
        self.said += [done.stdout, done.stderr]
        return done

    @property
    def root(self) -> str:
        """Of all manifests."""
        return str(self.folder / "root")

    def leaks(self) -> list[str]:
        """Where a secret stands, of what was said and of what was written."""
        found = [text for text in self.said if SECRET in text.lower()]
        files = [path for path in (self.folder / "root").rglob("*") if path.is_file()]
        secret = SECRET.encode()
        return [*found, *(str(path) for path in files if secret in path.read_bytes().lower())]

    def check(self, what: str, *, held: bool = True) -> None:
        """Print the outcome of what was tried."""
        leaks = self.leaks()
        sys.stderr.writelines(f"{each}\n" for each in leaks)
        self.said.clear()
        refused(what, held=held and not leaks)


@pytest.fixture(scope="module")
def attack(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Attack:
    """An archive whose folders are called what a terminal would obey."""
    made = Attack(programs, tmp_path_factory.mktemp("secrets"))
    (made.folder / "root").mkdir()
    write_tones(made.folder / "source", LABELS)
    return made


@pytest.fixture(scope="module")
def manifests(attack: Attack) -> dict[str, str]:
    """What comes of it."""
    made: dict[str, str] = {}

    def make(kind: str, program: str, *words: str) -> None:
        done = attack.run(program, *words)
        assert done.returncode == 0, done.stderr
        made[kind] = done.stdout.strip()

    scan = ("scan", str(attack.folder / "source"), "--root", attack.root, "--pattern", PATTERN)
    make("recordings", "featurizer", *scan)
    make("features", "featurizer", "run", made["recordings"], "--master", "local[1]")
    make("shards", "sharder", "run", made["features"], "--lanes", "1")
    make("run", "trainer", "run", made["shards"], "--epochs", "1")
    return made


def test_names_from_an_archive_steer_no_terminal(attack: Attack, manifests: dict[str, str]) -> None:
    """Whatever shows labels and paths to a person."""
    commands = [
        ("featurizer", "inspect", manifests["recordings"]),
        ("featurizer", "inspect", manifests["features"], "--contents"),
        ("featurizer", "plan", manifests["recordings"]),
        ("featurizer", "list", "--root", attack.root),
        ("featurizer", "verify", manifests["features"]),
        ("sharder", "plan", manifests["features"], "--lanes", "1"),
        ("sharder", "inspect", manifests["shards"], "--records", "3"),
        ("sharder", "verify", manifests["shards"]),
        ("sharder", "list", "--root", attack.root),
        ("trainer", "inspect", manifests["run"]),
        ("trainer", "verify", manifests["run"]),
        ("trainer", "evaluate", manifests["run"], "--split", "train"),
        ("trainer", "list", "--root", attack.root),
    ]
    for words in commands:
        for form in (("--log-format", "console"), ("--log-format", "json", "--json")):
            done = attack.run(*words, *form)
            told = done.stdout + done.stderr
            raw = {c for c in told if not c.isprintable() and c not in "\n\t"}
            refused(
                f"labels that steer a terminal, by {' '.join((*words[:2], *form[1:]))}",
                held=done.returncode == 0 and not raw,
            )


def test_a_secret_argument_of_a_model_is_refused_in_clear(
    attack: Attack, manifests: dict[str, str]
) -> None:
    """On the command line, by a variable and in a file; nothing is written."""
    train = ("run", manifests["shards"], "--name", "secret")
    for given in (f"hf_token={SECRET}", f"weights=https://host/w?sig={SECRET}"):
        done = attack.run("trainer", *train, "--model-arg", given)
        attack.check(f"--model-arg {given}", held=done.returncode == USAGE)
    variable = {"AUDIOLOOM_TRAINER_MODEL_ARG": json.dumps({"hf_token": SECRET})}
    done = attack.run("trainer", *train, **variable)
    attack.check("a secret argument by a variable", held=done.returncode == CONFIGURATION)
    file = attack.folder / "audioloom.toml"
    file.write_text(f'[trainer]\nmodel_arg = {{hf_token = "{SECRET}"}}\n')
    done = attack.run("trainer", *train, "--config", str(file))
    attack.check("a secret argument in a file", held=done.returncode == CONFIGURATION)


def test_a_secret_argument_by_reference_is_on_no_record(
    attack: Attack, manifests: dict[str, str]
) -> None:
    """The function gets it; manifest, report, logs and errors do not, and it names no run."""
    model = attack.folder / "model.py"
    model.write_text(MODEL.replace("SWORD", "Sword"))
    words = ("run", manifests["shards"], "--epochs", "1", "--model", f"{model}:build")
    words += ("--model-arg", "hf_token=env:OUR_TOKEN")
    done = attack.run("trainer", *words, OUR_TOKEN="Swordfish-0")  # noqa: S106
    manifest = done.stdout.strip()
    named = done.returncode == 0 and "env:OUR_TOKEN" in Path(manifest).read_text()
    attack.run("trainer", "inspect", manifest, "--json")
    attack.check("to find the value of a secret argument", held=named)
    rotated = attack.run("trainer", *words, OUR_TOKEN="Swordfish-1")  # noqa: S106
    attack.check("to lose a run by a rotated secret", held=rotated.stdout.strip() == manifest)
    words += ("--model-arg", "say=true")
    done = attack.run("trainer", *words, "--debug", OUR_TOKEN="Swordfish-0")  # noqa: S106
    attack.check(
        "to have a secret said by the model's own error",
        held=done.returncode == CONFIGURATION and "no access with" in done.stderr,
    )


def test_secrets_in_a_command_are_on_no_record(attack: Attack) -> None:
    """The command gets them; records, status, logs and explanations do not."""
    begin = ("run", "--root", attack.root, "--name", "knows", "--")
    done = attack.run("yarn-launcher", *begin, sys.executable, "-c", KNOWS, *IN_WORDS)
    folder = str(Path(attack.root) / "runs" / "knows")
    attack.check("to find secrets of a command in its run", held=done.returncode == 0)
    for verb in ("status", "logs"):
        done = attack.run("yarn-launcher", verb, folder)
        raw = {c for c in done.stdout if not c.isprintable() and c not in "\n\t"}
        attack.check(f"to find secrets by {verb}", held=done.returncode == 0)
        refused(f"output of a worker that steers a terminal, by {verb}", held=not raw)
        done = attack.run("yarn-launcher", verb, folder, "--json")
        raw = {c for c in done.stdout if not c.isprintable() and c not in "\n\t"}
        attack.check(f"to find secrets by {verb} --json", held=not raw)


@pytest.mark.parametrize("program", ["featurizer", "sharder", "trainer", "yarn-launcher"])
def test_no_error_repeats_a_secret(attack: Attack, program: str) -> None:
    """Of words that are wrong, of addresses that are refused."""
    verb = "status" if program == "yarn-launcher" else "inspect"
    for word in (f"https://me:{SECRET}@host/x", f"hdfs://me:{SECRET}@host/x?sig={SECRET}"):
        done = attack.run(program, verb, word, "--debug")
        attack.check(f"to have {program} repeat {word}", held=done.returncode != 0)
    done = attack.run(program, verb, "x", f"--token={SECRET}", f"HF_TOKEN={SECRET}")
    attack.check(f"to have {program} repeat a wrong flag", held=done.returncode == USAGE)
