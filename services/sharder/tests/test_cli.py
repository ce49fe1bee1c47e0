"""The command line: what it costs to ask for help, and what a wrong word is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from help_rules import broken_rules
from sharder_features import make_features, windows

HEAVY = ("pyspark", "py4j", "pyarrow", "numpy", "google_crc32c", "tensorflow", "structlog")


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """Neither Spark nor Arrow nor NumPy is loaded to print a page."""
    program = (
        "import sys; from audioloom_sharder.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (0, "[]") == (done.returncode, done.stderr.strip())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--shards", "50"], "--shards 50 is not a multiple of --lanes 24: try 48 or 72"),
        (["--shards", "5"], "is not a multiple of --lanes 24: try 24"),
        (["--shards", "24", "--shard-bytes", "1MiB"], "exclude each other"),
        (["--shard-bytes", "0"], "a value greater than 0"),
        (["--shard-bytes", "12XB"], "a size such as 8GB, 8GiB or 65536"),
        (["--lanes", "0"], "--lanes"),
        (["--seed", "-1"], "--seed"),
        (["--split", "train=0.8"], "the ratios add up to 0.8, expected 1"),
        (["--labels", "a,,b"], "an empty label"),
        (["--labels", "a,b,a"], "the label 'a' twice"),
        (["--master", "mesos://somewhere"], "--master"),
        (["--name", "../x"], "--name"),
        (["--root", "ftp://bucket/x"], "ftp://"),
    ],
)
def test_wrong_words_are_usage(
    sharder: Callable, tmp_path: Path, words: list[str], text: str
) -> None:
    """Exit code 2, and what was meant."""
    features = make_features(tmp_path, [windows(9)])
    ran = sharder("run", features.folder, *words)
    assert 2 == ran.code
    assert text in ran.err
    assert "" == ran.out


def test_stdout_is_the_result_alone(sharder: Callable, tmp_path: Path) -> None:
    """One line, the location of the manifest; everything else went to stderr."""
    features = make_features(tmp_path, [windows(200, groups=100)])
    ran = sharder("run", features.folder)
    assert Path(ran.out.removesuffix("\n")).is_file()
    assert "audioloom-sharder verify" in ran.err
    assert f"audioloom-trainer run {Path(ran.out).parent}" in ran.err


def test_the_next_commands_can_be_pasted(sharder: Callable, tmp_path: Path) -> None:
    """A folder may have a blank in its name."""
    features = make_features(tmp_path / "my data", [windows(200, groups=100)])
    ran = sharder("run", features.folder)
    folder = Path(ran.out).parent
    for command in ("sharder inspect", "sharder verify", "trainer run"):
        assert f"audioloom-{command} '{folder}'" in ran.err


def test_columns_are_not_for_the_trainer(sharder: Callable, tmp_path: Path) -> None:
    """What it cannot read is not what comes next."""
    features = make_features(tmp_path, [windows(200, groups=100)])
    ran = sharder("run", features.folder, "--format", "orc")
    assert "audioloom-sharder verify" in ran.err
    assert "audioloom-trainer" not in ran.err


def test_settings_come_from_a_file(sharder: Callable, tmp_path: Path) -> None:
    """A table of the sharder, sizes as text or number; a key of another command is passed over."""
    features = make_features(tmp_path, [windows(200, groups=100)])
    config = tmp_path / "loom.toml"
    config.write_text('[sharder]\nlanes = 6\nshard_bytes = 1048576\nolder_than = "3h"\n')
    data = sharder("plan", features.folder, "--config", config, "--json").data
    assert 6 == data["splits"]["train"]["lanes"]


def test_all_commands_have_a_help_page(sharder: Callable) -> None:
    """Each with its settings."""
    for command in ("plan", "run", "why", "verify", "inspect", "report", "list", "gc"):
        ran = sharder(command, "--help")
        assert 0 == ran.code
        assert "--json" in ran.out


@pytest.mark.parametrize("command", ["plan", "run", "why", "verify"])
def test_a_cluster_that_is_not_configured(
    sharder: Callable, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Told first: HDFS, which the same configuration describes, would fail slowly and otherwise."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    ran = sharder(command, "hdfs://127.0.0.1:1/loom/features/x", "--master", "yarn")
    assert 78 == ran.code
    assert "HADOOP_CONF_DIR" in ran.err


READING_AT_THE_END = """
import io, sys, threading, time
import pyarrow as pa, pyarrow.parquet as pq

reached = threading.Event()
reads = []

class Slow(io.BufferedReader):
    def read(self, size=-1):
        reads.append(size)
        if len(reads) > 1:  # the footer was read
            reached.set()
            while True:  # it asks for the interpreter at every moment
                time.sleep(0.001)
        return super().read(size)

data = io.BytesIO()
pq.write_table(pa.table({"column": list(range(20_000))}), data, row_group_size=1_000)
file = pq.ParquetFile(Slow(io.BytesIO(data.getvalue())), pre_buffer=True)
threading.Thread(target=file.read, daemon=True).start()
assert reached.wait(60)

from audioloom_sharder.cli import main

sys.argv = ["audioloom-sharder", "--version"]
sys.exit(main())
"""


def test_a_thread_of_arrow_that_still_reads_at_the_end_aborts_nothing() -> None:
    """Arrow's threads ask for the interpreter when nobody waits for them any more."""
    done = subprocess.run(
        [sys.executable, "-c", READING_AT_THE_END], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("audioloom-sharder ")


def test_a_module_that_cannot_be_imported_is_a_bad_configuration() -> None:
    """Also one that the command line itself needs: a gang of such programs is not started anew."""
    lacking = (
        "import sys\n"
        "sys.modules['audioloom_stage'] = None\n"
        "from audioloom_sharder.__main__ import main\n"
        "sys.argv = ['audioloom-sharder', 'list']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lacking], capture_output=True, text=True, check=False
    )
    assert 78 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")


def test_every_help_text_keeps_the_rules() -> None:
    """Short sentences, options in groups, and no variable that means two things."""
    from audioloom_sharder.cli import app

    assert [] == broken_rules(app)
