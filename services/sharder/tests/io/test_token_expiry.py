"""A stage whose delegation token expires in the middle of its work, on a real NameNode."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_mini_cluster.client import Running, running
from audioloom_mini_cluster.faults import until
from audioloom_storage import locate
from sharder_features import make_features, windows

pytestmark = pytest.mark.slow

LIFE_S = 60
LARGE = """
from audioloom_sharder.steps import work_folder
work_folder.MOST_LOCAL_BYTES = 0  # a small run has its intermediate files on local disk
"""
HALFWAY = f"""{LARGE}
import sys, time
from pathlib import Path
from types import SimpleNamespace
from audioloom_sharder.commands import run
from audioloom_sharder.cli import main
from audioloom_sharder.steps import merge
go_on = merge.make_shards
def wait(*given):
    Path("halfway").touch()
    while not Path("go").exists():
        time.sleep(0.1)
    return go_on(*given)
run.merge = SimpleNamespace(**{{**vars(merge), "make_shards": wait}})  # tasks still find go_on
sys.exit(main(sys.argv[1:]))
"""
ONLY_THE_REST = f"""{LARGE}
import sys
from audioloom_sharder.cli import main
from audioloom_sharder.steps import encode, rank
def never(*given):
    raise AssertionError("done before")
rank.scan_source = rank.rank_range = encode.make_segment = never
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Alice:
    """A user who is known by a token alone."""

    cluster: Running
    folder: Path

    def fetch_token(self) -> None:
        words = ["hdfs", "fetchdt", "--renewer", "nobody", str(self.folder / "tokens")]
        (self.folder / "tokens").unlink(missing_ok=True)
        variables = {**self.cluster.variables, "HADOOP_USER_NAME": "alice"}
        subprocess.run(words, check=True, env=variables, capture_output=True)

    def start(self, program: str, *words: str) -> subprocess.Popen[str]:
        variables = {
            "HADOOP_CONF_DIR": str(self.folder),
            "HADOOP_TOKEN_FILE_LOCATION": str(self.folder / "tokens"),
            "HADOOP_USER_NAME": "nobody",
            "AUDIOLOOM_SHARDER_MASTER": "inline",
        }
        return subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=self.folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def alice(tmp_path: Path) -> Iterator[Alice]:
    with (
        running("--hdfs-only", "--nodes=1", f"--token-seconds={LIFE_S}") as cluster,
        cluster.exported(),
    ):
        name = "hadoop.security.authentication"
        line = f"<property><name>{name}</name><value>kerberos</value></property></configuration>"
        for file in ("core-site.xml", "hdfs-site.xml"):
            text = Path(cluster.conf, file).read_text()
            (tmp_path / file).write_text(text.replace("</configuration>", line))
        yield Alice(cluster, tmp_path)


def test_a_token_that_expires_halfway(alice: Alice) -> None:
    """77 with what to do; a rerun with a fresh token goes on where it stopped, and commits."""
    features = make_features(locate(alice.cluster.hdfs) / "loom", [windows(60)])
    words = ["hdfs", "dfs", "-chmod", "-R", "777", "/loom"]
    subprocess.run(words, check=True, env=alice.cluster.variables)
    command = ("run", str(features.folder), "--name", "mine")

    alice.fetch_token()
    fetched = time.time()
    process = alice.start(HALFWAY, *command)
    until(lambda: (alice.folder / "halfway").exists() or process.poll() is not None, "halfway")
    while time.time() < fetched + LIFE_S + 1:
        time.sleep(1)
    with alice.cluster.without("namenode"):
        pass  # a connection that stands is not asked for its token again
    (alice.folder / "go").touch()
    _, err = process.communicate()
    assert 77 == process.returncode, err
    assert "the delegation token of alice for" in err
    assert "has expired or was cancelled: it was issued 0:01:" in err
    assert "the same command goes on where it stopped" in err

    process = alice.start(HALFWAY, *command)
    _, err = process.communicate()
    assert 77 == process.returncode, err
    assert "the delegation token of alice for" in err

    alice.fetch_token()
    process = alice.start(ONLY_THE_REST, *command)
    out, err = process.communicate()
    assert 0 == process.returncode, err
    shards = read_manifest(locate(out.strip()), "shards").files("shard")
    assert 60 == sum(each.records or 0 for each in shards)
