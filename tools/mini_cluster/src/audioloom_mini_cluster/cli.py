"""The command line: `python -m audioloom_mini_cluster`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from audioloom_mini_cluster.cluster import Cluster, start
from audioloom_mini_cluster.errors import MiniClusterError
from audioloom_mini_cluster.jars import HADOOP, default_cache, ensure_jars
from audioloom_mini_cluster.java import find_java
from audioloom_mini_cluster.native import unpack_native
from audioloom_mini_cluster.plan import Size
from audioloom_mini_cluster.subreaper import end_descendants, keep

_ABOUT = f"""\
Start HDFS and YARN on this machine: the real daemons of Hadoop {HADOOP}, one JVM each, every node
on a loopback address of its own.

Prints one line of JSON when all work together. Then reads lines and answers each with one:
  kill NAME      end a daemon by SIGKILL
  start NAME     start it again, and wait until it works
  stop NAME      freeze a daemon by SIGSTOP
  cont NAME      let it go on by SIGCONT, and wait until it works
It ends, with every process it started, when its input ends (Ctrl-D) or at Ctrl-C.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m audioloom_mini_cluster",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = Size()
    add = parser.add_argument
    add("--nodes", type=int, default=size.nodes, help="worker nodes (default: %(default)s)")
    add("--memory-mb", type=int, default=size.memory_mb, help="of a node (default: %(default)s)")
    add("--vcores", type=int, default=size.vcores, help="of a node (default: %(default)s)")
    add("--gpus", type=int, default=size.gpus, help="offered by a node (default: %(default)s)")
    add("--block-mb", type=int, default=size.block_mb, help="of HDFS (default: %(default)s)")
    add(
        "--small-queue",
        type=int,
        default=size.small_queue,
        metavar="PERCENT",
        help="a queue `small` beside `default`, of that much and never more (default: none)",
    )
    add("--hdfs-only", action="store_true", help="start no ResourceManager and no NodeManagers")
    add("--tokens", action="store_true", help="the NameNode hands out delegation tokens")
    add(
        "--token-seconds",
        type=int,
        default=size.token_seconds,
        metavar="N",
        help="it does, and they expire unless renewed within so long (default: a day)",
    )
    add(
        "--folder",
        type=Path,
        help="new folder for data and logs; it stays. Default: a temporary one",
    )
    add("--cache", type=Path, default=default_cache(), help="for the jars (default: %(default)s)")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; its exit status is 0 when the input has ended."""
    options = _parser().parse_args(words)
    return keep(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    size = Size(
        nodes=options.nodes,
        memory_mb=options.memory_mb,
        vcores=options.vcores,
        gpus=options.gpus,
        block_mb=options.block_mb,
        tokens=options.tokens or options.token_seconds > 0,
        token_seconds=options.token_seconds,
        small_queue=options.small_queue,
        yarn=not options.hdfs_only,
    )
    try:
        java = find_java()
        jars = ensure_jars(options.cache, java=java)
        with ExitStack() as stack:
            folder = options.folder
            if folder is None:
                made = tempfile.TemporaryDirectory(prefix="audioloom-", ignore_cleanup_errors=True)
                folder = Path(stack.enter_context(made))
            else:
                folder.mkdir(parents=True)
            stack.callback(end_descendants)  # before the folder goes, nobody may write into it
            folder = folder.resolve()
            unpack_native(options.cache, folder / "native", java=java)
            begin = time.monotonic()
            cluster = start(folder, jars, java, size)
            _say(_description(cluster, time.monotonic() - begin))
            if sys.stdin.isatty():
                _explain(cluster)
            _serve(cluster, sys.stdin)
    except FileExistsError as error:
        print(f"error: expected a new folder, found {error.filename}", file=sys.stderr)
        return 73
    except MiniClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _description(cluster: Cluster, seconds: float) -> dict[str, object]:
    layout = cluster.layout
    pages = {"hdfs": layout.namenode_page, "yarn": layout.resourcemanager_page}
    return {
        "process": os.getppid(),
        "ready_seconds": round(seconds, 1),
        "folder": str(cluster.folder),
        "conf": str(cluster.conf),
        "environment": cluster.environment,
        "hdfs": layout.namenode,
        "webhdfs": layout.namenode_page.replace("http://", "webhdfs://"),
        "pages": {name: page for name, page in pages.items() if page},
        "nodes": list(layout.nodes),
        "daemons": {name: process.pid for name, process in cluster.processes.items()},
    }


def _explain(cluster: Cluster) -> None:
    environment = cluster.environment
    print(
        f"""
HDFS {cluster.layout.namenode}   page {cluster.layout.namenode_page}
YARN page {cluster.layout.resourcemanager_page or "(not started)"}
In another terminal:

  export HADOOP_CONF_DIR={environment["HADOOP_CONF_DIR"]}
  export JAVA_HOME={environment["JAVA_HOME"]}
  export PATH={environment["PATH"]}:$PATH

Here: kill, start, stop or cont NAME; Ctrl-D ends it all.
""",
        file=sys.stderr,
    )


def _serve(cluster: Cluster, lines: Iterable[str]) -> None:
    actions = {
        "kill": cluster.kill,
        "start": cluster.start,
        "stop": cluster.stop,
        "cont": cluster.cont,
    }
    for line in lines:
        words = line.split()
        if not words:
            continue
        try:
            verb, name = words
            actions[verb](name)
            _say({"done": line.strip(), "pid": cluster.processes[name].pid})
        except (ValueError, KeyError):
            _say({"failed": line.strip(), "error": f"expected {' NAME, '.join(actions)} NAME"})
        except MiniClusterError as error:
            _say({"failed": line.strip(), "error": str(error)})


def _say(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)
