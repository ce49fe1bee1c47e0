"""The command line: the real program, with Spark, and single commands in this process."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from featurizer_work import PATTERN, header_only, write_wav
from help_rules import broken_rules

CASES = Path(__file__).parents[3] / "shared/contracts/conformance/cases"


def test_a_folder_to_features_and_back(program: Any, source: Path, root: Path) -> None:
    """scan, run with the budget in a variable, run again, verify."""
    header_only(source / "no" / "s8-bad.wav")
    (source / "no" / "._s8-bad.wav").write_bytes(b"\0\5\x16\7")
    recordings = program("scan", source, "--root", root, "--pattern", PATTERN, "--json")
    assert 0 == recordings.returncode, recordings.stderr
    scanned = json.loads(recordings.stdout)
    assert {"hidden": 1, "other": 0, "containers": 0, "left_out": 0, "elsewhere": 0} == scanned[
        "skipped"
    ]
    command = ("run", scanned["location"], "--master", "local[2]", "--unit-recordings", 4)

    done = program(*command, AUDIOLOOM_FEATURIZER_ERROR_BUDGET="20%")
    assert 0 == done.returncode, done.stderr
    where = Path(done.stdout.removesuffix("\n"))
    assert where.is_file(), "stdout is the location alone"

    again = program(*command, "--json")
    assert json.loads(again.stdout)["already_committed"]

    verified = program("verify", where)
    assert 0 == verified.returncode, verified.stderr


@pytest.mark.slow  # three sessions of Spark
def test_refused_and_then_made_twice(program: Any, source: Path, root: Path) -> None:
    """Over budget nothing is made; the output deleted, run makes it again, byte for byte."""
    header_only(source / "no" / "s8-bad.wav")
    recordings = program("scan", source, "--root", root, "--pattern", PATTERN)
    command = ("run", recordings.stdout.strip(), "--master", "local[2]", "--unit-recordings", 4)
    refused = program(*command, "--error-budget", "0")
    assert (65, "") == (refused.returncode, refused.stdout), refused.stderr
    assert "no/s8-bad.wav" in refused.stderr
    done = program(*command)
    assert 0 == done.returncode, done.stderr
    where = Path(done.stdout.removesuffix("\n"))
    first = _identity(where)
    shutil.rmtree(where.parent)
    anew = program(*command, AUDIOLOOM_FEATURIZER_ERROR_BUDGET="20%")
    assert done.stdout == anew.stdout, anew.stderr
    assert first == _identity(where)


def _identity(where: Path) -> tuple[str, bytes]:
    manifest = json.loads(where.read_text())
    return manifest["identity"], (where.parent / manifest["files"]["name"]).read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("scan", "{tmp}/nowhere", "--root", "{tmp}/r"), 66, "nowhere"),
        (("scan", "{tmp}/empty", "--root", "{tmp}/r"), 66, "no file at all"),
        (("scan", "{tmp}/source", "--root", "{tmp}/r", "--pattern", "("), 2, "--pattern"),
        (("scan", "{tmp}/source", "--root", "{tmp}/r", "--pattern", "(?P<label>x)"), 65, "no/s1-"),
        (("scan", "{tmp}/source"), 2, "--root"),
        (("plan", "{tmp}/nowhere"), 66, "nowhere"),
        (("run", "{tmp}/empty"), 66, "empty"),
        (("run", "{tmp}/empty", "--error-budget", "lots"), 2, "lots"),
        (("run", "{tmp}/empty", "--windows", "some"), 2, "--windows"),
        (("gc", "--root", "{tmp}", "--dry-run", "--delete"), 2, "--dry-run"),
        (("gc", "--root", "{tmp}", "--older-than", "1w"), 2, "such as 90s, 30m, 24h or 7d"),
        (("trace", "--root", "{tmp}"), 2, "--group"),
        (("trace", "--group", "s0"), 2, "--root"),
        (("list", "--root", "{tmp}/nowhere"), 66, "nowhere"),
    ],
)
def test_bad_input(
    command: Any, source: Path, tmp_path: Path, words: tuple[str, ...], code: int, text: str
) -> None:
    """Each has its exit code, says what it is about, and prints nothing to stdout."""
    (tmp_path / "empty").mkdir()
    ended = command(*(word.format(tmp=tmp_path) for word in words))
    assert (code, "") == (ended.returncode, ended.stdout), ended.stderr
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("recordings-major-2", "version 1.x"),
        ("json-truncated", "JSON"),
        ("list-name-leaves-folder", "files.name"),
        ("kind-upper-case", "one of recordings"),
        ("shards-minimal", "a shards manifest"),
    ],
)
def test_a_bad_manifest(command: Any, tmp_path: Path, case: str, text: str) -> None:
    """65, with the file, what was expected and what was found."""
    shutil.copy(CASES / case / "input/manifest.json", tmp_path)
    ended = command("run", tmp_path)
    assert (65, "") == (ended.returncode, ended.stdout), ended.stderr
    assert text in ended.stderr
    assert str(tmp_path / "manifest.json") in ended.stderr


def test_a_wrong_checksum_and_a_name_taken(command: Any, source: Path, root: Path) -> None:
    """65 for an inventory that was cut short or rotted, 73 for another listing under a name."""
    first = command("scan", source, "--root", root, "--name", "mine")
    assert 0 == first.returncode, first.stderr
    recordings = Path(first.stdout.strip())
    other = command("scan", source, "--root", root, "--name", "mine", "--suffix", "wav")
    assert (73, "") == (other.returncode, other.stdout), other.stderr
    assert "suffixes" in other.stderr
    inventory = next(recordings.parent.glob("inventory-*.parquet"))
    whole = inventory.read_bytes()
    for damaged in (whole[:-1], whole[:100] + b"XX" + whole[102:]):
        inventory.write_bytes(damaged)
        ended = command("run", recordings)
        assert (65, "") == (ended.returncode, ended.stdout), ended.stderr
        assert inventory.name in ended.stderr


@pytest.mark.parametrize(
    "name",
    ["scan", "plan", "run", "why", "retry", "import", "verify", "inspect", "report", "list", "gc"],
)
def test_help_of_every_command(command: Any, name: str) -> None:
    """It answers, and tells the variables."""
    ended = command(name, "--help-all")
    assert 0 == ended.returncode
    assert "AUDIOLOOM_FEATURIZER_" in ended.stdout


def test_help_imports_nothing_heavy() -> None:
    """The command line is known without Spark, Arrow, NumPy or a decoder."""
    program = """
import sys
from audioloom_featurizer import cli
try:
    cli.main(["run", "--help"])
finally:
    heavy = {"pyspark", "pyarrow", "numpy", "scipy", "soundfile", "librosa"} & set(sys.modules)
    assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_half_way_goes_on(
    program: Any, tmp_path: Path, number: signal.Signals
) -> None:
    """Nothing is committed; a rerun does the units in flight again, and none that was finished."""
    units, at_once = 60, 2
    folder = tmp_path / "many"
    for count in range(units):
        write_wav(folder / "x" / f"s{count}-a.wav", 60, seed=count)
    root = tmp_path / "root"
    recordings = program("scan", folder, "--root", root).stdout.strip()
    wish = (recordings, "--windows", "all", "--unit-recordings", "1")
    words = ("run", *wish, "--master", f"local[{at_once}]")
    command = [str(Path(sys.executable).with_name("audioloom-featurizer")), *words]

    def receipts() -> dict[str, str]:
        found = root.glob("features/*/receipts/[!.]*.json")
        return {path.stem: path.read_text() for path in found}

    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while len(list(root.glob("features/*/receipts/*.json"))) < units // 2:
        assert running.poll() is None, running.stderr and running.stderr.read()
        time.sleep(0.01)
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    assert {signal.SIGKILL: -9, signal.SIGINT: 130}[number] == running.returncode
    assert b"" == out
    assert not list(root.glob("features/*/manifest.json"))
    kept = receipts()
    assert units // 2 <= len(kept) < units
    started = {path.stem.split("-")[1] for path in root.glob("features/*/features/[!.]*.parquet")}
    finished = {name.partition("-")[0] for name in kept}
    assert len(started - finished) <= at_once
    plan = json.loads(program("plan", *wish, "--json").stdout)
    assert (len(kept), units - len(kept)) == (plan["units_finished"], plan["units_to_do"])

    done = program(*words)
    assert 0 == done.returncode, done.stderr
    assert 0 == program("verify", done.stdout.strip()).returncode
    assert kept == {unit: text for unit, text in receipts().items() if unit in kept}
    attempt = json.loads(Path(done.stdout.strip()).read_text())["execution"]["attempt"]
    second = [text for text in receipts().values() if json.loads(text)["attempt"] == attempt]
    assert units - len(kept) == len(second)


def test_a_cluster_that_is_not_configured(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told first: HDFS, which the same configuration describes, would fail slowly and otherwise."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    ended = command("run", "hdfs://127.0.0.1:1/loom/recordings/x", "--master", "yarn")
    assert 78 == ended.returncode
    assert "HADOOP_CONF_DIR" in ended.stderr


def test_a_module_that_cannot_be_imported_is_a_bad_configuration() -> None:
    """Also one that the command line itself needs: a gang of such programs is not started anew."""
    lacking = (
        "import sys\n"
        "sys.modules['audioloom_stage'] = None\n"
        "from audioloom_featurizer.__main__ import main\n"
        "sys.argv = ['audioloom-featurizer', 'list']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lacking], capture_output=True, text=True, check=False
    )
    assert 78 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")


def test_every_help_text_keeps_the_rules() -> None:
    """Short sentences, options in groups, and no variable that means two things."""
    from audioloom_featurizer.cli import app

    assert [] == broken_rules(app)
