"""The workers that train together, read from TF_CONFIG before TensorFlow reads it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audioloom_stage.errors import BadConfiguration

_HINT = (
    'TF_CONFIG is {"cluster": {"worker": ["HOST:PORT", …]},'
    ' "task": {"type": "worker", "index": N}};'
    " unset it to train alone."
)


@dataclass(frozen=True)
class Cluster:
    """The workers in rank order, and the rank of this process."""

    workers: tuple[str, ...] = ("alone",)
    rank: int = 0
    has_chief: bool = False
    """Whether the first of them is of a job of its own, so that TensorFlow counts from the next."""

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self.workers)

    @property
    def here(self) -> int:
        """The number of workers at the host of this one, which share its cores."""
        hosts = [each.rpartition(":")[0] for each in self.workers]
        return hosts.count(hosts[self.rank])

    @property
    def is_chief(self) -> bool:
        """Whether this process is the leader, which alone writes the run's shared files."""
        return self.rank == 0


def read_cluster(environment: Mapping[str, str]) -> Cluster:
    """Read TF_CONFIG; if it is missing or empty, this process trains alone.

    As in TensorFlow, a "chief" is the worker of rank 0.

    Raises:
        BadConfiguration: TF_CONFIG is not JSON, has other jobs than chief and worker, has an
            address twice, or has a task that its cluster does not list.
    """
    text = environment.get("TF_CONFIG", "").strip()
    if not text:
        return Cluster()
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _bad("a JSON object", f"{error}: {text[:80]!r}") from None
    if not isinstance(value, dict):
        raise _bad("a JSON object", repr(text[:80]))
    jobs, task = value.get("cluster") or {}, value.get("task") or {}
    if not jobs:
        return Cluster()
    workers = _workers(jobs)
    return Cluster(workers, _rank(jobs, task, len(workers)), has_chief=bool(jobs.get("chief")))


def _workers(jobs: Any) -> tuple[str, ...]:
    if not isinstance(jobs, dict) or not set(jobs) <= {"chief", "worker"}:
        found = ", ".join(map(str, jobs)) if isinstance(jobs, dict) else repr(jobs)
        raise _bad("the jobs chief and worker alone (evaluation is done by the workers)", found)
    lists = [jobs.get("chief", []), jobs.get("worker", [])]
    addresses = [each for names in lists if isinstance(names, list) for each in names]
    if not (
        all(isinstance(names, list) for names in lists)
        and all(isinstance(address, str) and address for address in addresses)
        and len(lists[0]) <= 1
        and 0 < len(addresses) == len(set(addresses))
    ):
        expected = "lists of addresses HOST:PORT, each once, of at most one chief"
        raise _bad(expected, json.dumps(jobs)[:200])
    return tuple(addresses)


def _rank(jobs: dict[str, Any], task: Any, size: int) -> int:
    kind, index = (task.get("type"), task.get("index")) if isinstance(task, dict) else (None, None)
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    if not (
        isinstance(kind, str) and kind in jobs and isinstance(index, int)
    ) or not 0 <= index < len(jobs[kind]):
        raise _bad(f"a task of the cluster's {size} workers", json.dumps(task)[:200])
    return index if kind == "chief" else index + len(jobs.get("chief", []))


def _bad(expected: str, found: str) -> BadConfiguration:
    return BadConfiguration(where="TF_CONFIG", expected=expected, found=found, hint=_HINT)
