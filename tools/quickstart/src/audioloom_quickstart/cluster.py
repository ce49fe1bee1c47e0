"""HDFS and YARN on this machine, as long as the pipeline needs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from audioloom_quickstart.programs import StepFailedError


@dataclass(frozen=True)
class Cluster:
    """A cluster that works.

    Args:
        hdfs: URI of its file system.
        variables: the environment of programs that use it.
        pages: addresses of its web pages by name.
    """

    hdfs: str
    variables: Mapping[str, str]
    pages: Mapping[str, str]


@contextmanager
def mini_cluster(python: str) -> Iterator[Cluster]:
    """Start the daemons; they end with the block, or with this process.

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
        yield described(json.loads(line), os.environ)
        process.stdin.close()


def described(said: Mapping[str, Any], variables: Mapping[str, str]) -> Cluster:
    """The cluster that `audioloom_mini_cluster` says is ready.

    Args:
        said: its line.
        variables: of this process.
    """
    given = said["environment"]
    path = {"PATH": f"{given['PATH']}:{variables['PATH']}"}
    return Cluster(said["hdfs"], {**variables, **given, **path}, said["pages"])
