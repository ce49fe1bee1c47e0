from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    create,
    exists,
    is_temporary,
    make_folder,
    publish,
    read_bytes,
    remove,
    remove_tree,
    walk,
)
from audioloom_storage_testing import Crashed, CrashPlan, steps
from storage_place import Place

DATA = bytes(range(256)) * 12_000  # three writes of a buffer
MANIFEST = b'{"files": "data.bin"}'

# A quarter of a minute each on a cluster.
SLOW = pytest.mark.slow
BY_EXCEPTION = pytest.mark.parametrize(
    "place",
    [
        *("local", "local-without-links", "local-without-any", "s3"),
        *(pytest.param(name, marks=SLOW) for name in ("hdfs", "webhdfs")),
    ],
    indirect=True,
)
BY_SIGNAL = pytest.mark.parametrize(
    "place",
    [
        "local",
        *(pytest.param(f"local-without-{each}", marks=SLOW) for each in ("links", "any")),
        *(pytest.param(name, marks=SLOW) for name in ("hdfs", "webhdfs", "s3")),
    ],
    indirect=True,
)

# What stages do: a folder, data, the manifest last, and the removal of what is no longer needed.
SEQUENCE = f"""
import sys
from contextlib import suppress
from audioloom_storage import *
folder = locate(sys.argv[1])
run = folder / "run"
make_folder(run)
with suppress(AlreadyExists), create(run / "data.bin") as file:
    for start in range(0, {len(DATA)}, 1 << 20):
        file.write((bytes(range(256)) * 12_000)[start : start + (1 << 20)])
with suppress(AlreadyExists):
    publish(run / "manifest.json", {MANIFEST!r})
with suppress(NotFound):
    remove(folder / "plan")
if exists(folder / "scratch"):
    remove_tree(folder / "scratch")
"""


def prepare(folder: Location) -> None:
    """What lies there before the sequence starts."""
    publish(folder / "plan", b"")
    publish(folder / "scratch/a/1", b"")
    publish(folder / "scratch/2", b"")


def run_sequence(folder: Location) -> None:
    """The sequence, in this process."""
    run = folder / "run"
    make_folder(run)
    with suppress(AlreadyExists), create(run / "data.bin") as file:
        for start in range(0, len(DATA), 1 << 20):
            file.write(DATA[start : start + (1 << 20)])
    with suppress(AlreadyExists):
        publish(run / "manifest.json", MANIFEST)
    with suppress(NotFound):
        remove(folder / "plan")
    if exists(folder / "scratch"):
        remove_tree(folder / "scratch")


def check_whole_or_absent(folder: Location) -> None:
    """Every file is complete, or of a temporary name; and a manifest has its data."""
    run = folder / "run"
    contents = {}
    for entry in walk(folder):
        if not is_temporary(entry.location.name):
            contents[entry.location.relative_to(folder)] = read_bytes(entry.location, limit=10**8)
    allowed = {
        "run/data.bin": DATA,
        "run/manifest.json": MANIFEST,
        "plan": b"",
        "scratch/a/1": b"",
        "scratch/2": b"",
    }
    assert contents.items() <= allowed.items()
    if exists(run / "manifest.json"):
        assert exists(run / "data.bin")


def check_rerun(folder: Location) -> None:
    """The same sequence again ends well, over whatever was left."""
    run_sequence(folder)
    left = [e.location for e in walk(folder) if not is_temporary(e.location.name)]
    assert [folder / "run/data.bin", folder / "run/manifest.json"] == left
    check_whole_or_absent(folder)


def count_steps(folder: Location, counter: Path) -> int:
    """How many steps the sequence has when nothing goes wrong."""
    prepare(folder)
    with steps(counter) as taken:
        run_sequence(folder)
    remove_tree(folder / "run")
    return taken.count


def test_the_sequence_takes_the_steps_it_should(
    folder: Location, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """So that the tests below cut where they mean to: each operation that changes storage."""
    counter = tmp_path_factory.mktemp("counter") / "steps"
    prepare(folder)
    with steps(counter) as taken:
        run_sequence(folder)
    file = ["create", "write", "write", "write", "sync", "commit", "committed"]
    manifest = ["create", "write", "sync", "commit", "committed"]
    expected = ["make_folder", *file, *manifest, "remove"]
    assert expected == list(taken.names)[: len(expected)]
    assert {"remove"} == set(taken.names[len(expected) :])  # the tree, in as many as it needs


@BY_EXCEPTION
def test_a_crash_at_any_step_leaves_whole_files(
    folder: Location, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Targets are absent or complete, whatever the step, and a rerun mends the rest."""
    counters = tmp_path_factory.mktemp("counters")
    total = count_steps(folder, counters / "count")
    for number in range(1, total + 1):
        attempt = folder / f"attempt-{number}"
        prepare(attempt)
        plan = CrashPlan(counters / f"{number}", number)
        with plan.armed(), pytest.raises(Crashed):
            run_sequence(attempt)
        check_whole_or_absent(attempt)
        check_rerun(attempt)


@BY_SIGNAL
def test_a_kill_at_any_step_leaves_whole_files(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same with SIGKILL: what no handler sees."""
    folder, prelude = place.folder, place.prelude
    counters = tmp_path_factory.mktemp("counters")
    total = count_steps(folder, counters / "count")
    arm = "from audioloom_storage_testing import install_from_environment as i; i()\n"
    for number in range(1, total + 1):
        attempt = folder / f"attempt-{number}"
        prepare(attempt)
        plan = CrashPlan(counters / f"{number}", number, "kill")
        died = subprocess.run(
            [sys.executable, "-c", prelude + arm + SEQUENCE, attempt.uri],
            env={**os.environ, **plan.environment()},
            check=False,
        )
        assert -signal.SIGKILL == died.returncode
        check_whole_or_absent(attempt)
        check_rerun(attempt)
