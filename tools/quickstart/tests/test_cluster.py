import os
import sys
from pathlib import Path

import pytest
from audioloom_quickstart.cluster import mini_cluster
from audioloom_quickstart.programs import StepFailedError

READY = """{"hdfs": "hdfs://h:1", "environment": {"HADOOP_CONF_DIR": "/c", "PATH": "/b"},
"pages": {"yarn": "http://y"}, "nodes": ["n"], "folder": "/f"}""".replace("\n", " ")


def stand_in(folder: Path, body: str) -> str:
    """A program that stands for the Python that would start the daemons."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_daemons_that_do_not_start_end_the_session(tmp_path: Path) -> None:
    """With their exit code."""
    python = stand_in(tmp_path, "sys.exit(69)")
    with pytest.raises(StepFailedError, match="exit code 69"), mini_cluster(python):
        raise AssertionError


def test_within_the_block_this_process_is_a_client(tmp_path: Path) -> None:
    """And after it what it was before; in between, words are answered."""
    echo = "for line in sys.stdin:\n    print('did ' + line, end='', flush=True)"
    python = stand_in(tmp_path, f"print({READY!r}, flush=True)\n{echo}")
    before = dict(os.environ)
    with mini_cluster(python) as cluster:
        assert ("hdfs://h:1", ["n"]) == (cluster.hdfs, cluster.nodes)
        assert "/c" == os.environ["HADOOP_CONF_DIR"]
        assert f"/b:{before['PATH']}" == os.environ["PATH"]
        assert "did kill datanode-1\n" == cluster.tell("kill datanode-1")
    assert before == dict(os.environ)
