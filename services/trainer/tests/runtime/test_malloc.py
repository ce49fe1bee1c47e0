"""What is freed stays with the process, unless its user has said otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PAGES = 8 * (3 << 20) // 4096
"""Of all the blocks of a turn."""
FREE_AND_ALLOCATE = """
import resource
from audioloom_trainer.runtime.resources import keep_freed_memory
if {kept}:
    keep_freed_memory()
def turn():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytearray(3 << 20) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
turn(), turn()
print(turn())
"""


def _new_pages(*, kept: bool, **variables: str) -> int:
    """Pages that the kernel had to find for the third turn in a process of its own."""
    tuning = ("MALLOC_", "GLIBC_TUNABLES")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(tuning)}
    ran = subprocess.run(
        [sys.executable, "-c", FREE_AND_ALLOCATE.format(kept=kept)],
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(ran.stdout)


def test_what_is_freed_is_used_again() -> None:
    """Without the call, the same blocks come from the kernel each time."""
    assert _new_pages(kept=False) > PAGES // 2
    assert _new_pages(kept=True) < PAGES // 100


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MALLOC_TRIM_THRESHOLD_", "131072"),
        ("MALLOC_MMAP_THRESHOLD_", "131072"),
        ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=131072"),
    ],
)
def test_what_the_environment_says_stands(name: str, text: str) -> None:
    """Whoever has tuned glibc knows why."""
    assert _new_pages(kept=True, **{name: text}) > PAGES // 2
