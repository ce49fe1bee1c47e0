"""HDFS and YARN on this machine, as long as the pipeline needs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from audioloom_quickstart.programs import StepFailedError


@dataclass(frozen=True)
class Cluster:
    """A cluster that works.

    Args:
        hdfs: URI of its file system.
        variables: what its clients export.
        pages: addresses of its web pages by name.
        nodes: the addresses of its worker nodes.
        folder: where its daemons and containers write.
        tell: give it a word (`kill datanode-1`) and get what it answers.
    """

    hdfs: str
    variables: Mapping[str, str]
    pages: Mapping[str, str]
    nodes: Sequence[str]
    folder: str
    tell: Callable[[str], str]


@contextmanager
def mini_cluster(python: str) -> Iterator[Cluster]:
    """Start the daemons; they end with the block, or with this process.

    In the block this process and those that it starts are clients of the cluster: what clients
    export is in `os.environ`.

    Args:
        python: that of the environment of `tools/mini_cluster`.

    Raises:
        StepFailedError: they do not work together; why is on stderr.
    """
    words = [python, "-m", "audioloom_mini_cluster"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        line = process.stdout.readline()
        if not line:
            raise StepFailedError(f"the mini-cluster ended with exit code {process.wait()}")

        def tell(word: str) -> str:
            print(word, file=process.stdin, flush=True)
            assert process.stdout is not None  # noqa: S101
            return process.stdout.readline()

        cluster = described(json.loads(line), tell)
        with _exported(cluster.variables):
            yield cluster
        process.stdin.close()


def described(said: Mapping[str, Any], tell: Callable[[str], str]) -> Cluster:
    """The cluster that `audioloom_mini_cluster` says is ready.

    Args:
        said: its line.
        tell: gives it a word.
    """
    return Cluster(
        said["hdfs"], said["environment"], said["pages"], said["nodes"], said["folder"], tell
    )


@contextmanager
def _exported(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    os.environ["PATH"] = f"{variables['PATH']}{os.pathsep}{before['PATH']}"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
