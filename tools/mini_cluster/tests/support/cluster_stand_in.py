"""Programs that stand for the one that starts the daemons."""

from __future__ import annotations

import sys
from pathlib import Path

READY = {
    "hdfs": "hdfs://h:1",
    "webhdfs": "webhdfs://h:2",
    "conf": "/c",
    "environment": {"HADOOP_CONF_DIR": "/c", "PATH": "/b"},
    "pages": {"yarn": "http://y"},
    "nodes": ["n"],
    "folder": "/f",
    "daemons": {"datanode-1": 1},
    "something": "a later version says more",
}


def stand_in(folder: Path, body: str) -> str:
    """A program that runs *body*; `{ready}` in it prints that the cluster is ready."""
    program = folder / "python"
    ready = f"print(json.dumps(dict({READY!r}, process=os.getpid())), flush=True)"
    body = body.format(ready=ready)
    program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    program.chmod(0o755)
    return str(program)
