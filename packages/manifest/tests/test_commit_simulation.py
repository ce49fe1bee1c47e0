"""Seeded schedules of concurrent commits; `commit_simulation.py` says what they are.

A red seed prints itself: add it to KNOWN_SEEDS with what it found, then mend the code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import commit_simulation as simulation
import pytest
from audioloom_manifest import publication
from audioloom_manifest.publication import Committed, commit
from audioloom_storage import AlreadyExists, Location, publish
from audioloom_storage.local import commit as local_commit
from audioloom_storage_testing import MemoryStore
from commit_simulation import first_found, on_one_processor, play

SCHEDULES = 500  # of a block
ON_DISK = 10
BLOCKS, ALL_BLOCKS = 4, 80  # in the short form, and in the long one
SOON = 100

KNOWN_SEEDS = [
    # gc took the unfinished file of a writer, who was told that an input is missing
    (60, "memory"),
    (523, "memory"),
    (161, "local"),
    (444, "local"),
]


@pytest.fixture(autouse=True)
def _on_one_processor() -> Iterator[None]:
    """Another one for each process of pytest-xdist."""
    with on_one_processor(int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))):
        yield


@pytest.mark.parametrize(("seed", "store"), KNOWN_SEEDS)
def test_a_seed_that_once_was_red(seed: int, store: str, tmp_path: Path) -> None:
    """It holds now."""
    assert None is play(seed, tmp_path if store == "local" else None)


@pytest.mark.parametrize(
    "block",
    [
        *range(BLOCKS),
        *(pytest.param(n, marks=pytest.mark.slow) for n in range(BLOCKS, ALL_BLOCKS)),
    ],
)
def test_no_schedule_breaks_a_promise(block: int, tmp_path: Path) -> None:
    """Whoever is interrupted, dies or loses an answer: one commit, whole and for ever."""
    assert None is first_found(range(block * SCHEDULES, (block + 1) * SCHEDULES))
    assert None is first_found(range(block * ON_DISK, (block + 1) * ON_DISK), tmp_path)


def test_the_same_seed_is_the_same_schedule() -> None:
    """Or no red seed could be looked at again."""
    traces = []
    for _ in range(2):
        played = simulation.Simulation(7)
        played.run()
        traces.append(played.schedule.trace)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 20


def _replace(temporary: Location, target: Location) -> bool:
    Path(temporary.path).replace(target.path)
    return True


def _manifest_first() -> Callable[..., None]:
    held: list[Any] = []

    def publish_later(where: Location, data: bytes) -> None:
        if where.name.startswith("files-"):
            held.append((where, data))
            return
        publish(where, data)
        while held:
            publish(*held.pop())

    return publish_later


def _always_ours(*asked: Any) -> Committed:
    return Committed(commit(*asked).opened, ours=True)


@pytest.mark.parametrize(
    ("store", "planted", "what"),
    [
        ("memory", patch.object(MemoryStore, "replaces", True), "replaced"),
        ("local", patch.object(local_commit, "WAYS", (_replace,)), "replaced"),
        ("memory", patch.object(publication, "publish", _manifest_first()), "not what it names"),
        (
            "memory",
            patch.object(simulation, "commit", _always_ours),
            "ours=True, and it is not so",
        ),
        ("memory", patch.object(publication, "UnknownOutcome", AlreadyExists), "its commit stands"),
    ],
    ids=["replaces", "replaces on disk", "manifest first", "losers told ours", "does not look"],
)
def test_a_planted_bug_is_found(store: str, planted: Any, what: str, tmp_path: Path) -> None:
    """A simulation that finds nothing proves nothing."""
    with planted:
        found = first_found(range(SOON), tmp_path if store == "local" else None)
    assert found is not None
    assert what in found.what
    assert f'({found.seed}, "{store}"),' in str(found)
