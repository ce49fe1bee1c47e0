from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_storage import (
    Location,
    NoSpace,
    StorageError,
    UnknownOutcome,
    exists,
    is_temporary,
    make_folder,
    publish,
    read_bytes,
    remove,
    walk,
)
from audioloom_storage_testing import UnreliableStore, install_from_environment

DATA = b"x" * 3_000_000
REQUESTS = 12
SEEDS = range(150)


def work(folder: Location) -> None:
    """Two files, a look, a removal."""
    make_folder(folder)
    publish(folder / "a", DATA)
    if exists(folder / "a"):
        publish(folder / "b", b"b")
    remove(folder / "b")


def tried(folder: Location, store: UnreliableStore) -> str:
    """Work on it; answer what was said, and what happened."""
    try:
        with store.installed():
            work(folder)
    except StorageError as error:
        return f"{type(error).__name__}\n{store.log}"
    return f"done\n{store.log}"


def test_the_same_seed_gives_the_same_faults(here: Location, tmp_path: Path) -> None:
    """Whatever the time, and whatever the unfinished files are called."""
    for seed in (3, 16, 21):
        told = []
        for number in range(2):
            folder = here / f"{seed}-{number}"
            text = tried(folder, UnreliableStore(tmp_path / f"log-{seed}-{number}", seed, REQUESTS))
            told.append([line.partition(str(folder))[0] for line in text.splitlines()])
        assert told[0] == told[1]


def test_seeds_reach_every_fault_and_none_tears_a_file(here: Location, tmp_path: Path) -> None:
    """Files are whole or not there, and the log names what was done to which request."""
    said = set()
    for seed in SEEDS:
        store = UnreliableStore(tmp_path / f"log-{seed}", seed, REQUESTS)
        text = tried(here / f"{seed}", store)
        said |= {line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("req")}
        for entry in walk(here / f"{seed}") if exists(here / f"{seed}") else ():
            if not is_temporary(entry.location.name):
                expected = {"a": DATA, "b": b"b"}[entry.location.name]
                assert expected == read_bytes(entry.location, limit=len(DATA)), text
    assert {
        "it fails, and was not done",
        "it was done, and is said to have failed",
        "no answer, and it was not done",
        "no answer, and it was done",
        "it was done twice, and the second answer is the one that comes",
        "the storage is full from here on",
    } == said


def first_with(words: str, here: Location, tmp_path: Path) -> tuple[int, str]:
    """The first seed whose only fault is this one, and what was said."""
    for seed in SEEDS:
        store = UnreliableStore(tmp_path / f"log-{seed}", seed, REQUESTS)
        text = tried(here / f"{seed}", store)
        if words in text and text.count("request ") == 1:
            return seed, text
    raise AssertionError(words)


def test_no_answer_to_a_move_is_an_unknown_outcome(here: Location, tmp_path: Path) -> None:
    """Done or not: it is not told which."""
    seed, told = first_with("no answer, and it was done", here, tmp_path)
    assert told.startswith(UnknownOutcome.__name__)
    assert exists(here / f"{seed}" / "a")
    seed, told = first_with("no answer, and it was not done", here, tmp_path)
    assert told.startswith(UnknownOutcome.__name__)
    moved = told.splitlines()[-1].split(": ")[1].removeprefix("commit ")
    assert not Path(moved).exists()


def test_a_repeated_creation_is_not_taken_for_somebody_elses_file(
    here: Location, tmp_path: Path
) -> None:
    """Callers read AlreadyExists as: it lies there, whole. The file is written all the same."""
    for seed in range(10_000):
        store = UnreliableStore(tmp_path / f"log-{seed}", seed, REQUESTS)
        told = tried(here / f"{seed}", store)
        if "it was done twice" in told and "create " in told and told.count("request ") == 1:
            break
    assert told.startswith("done")
    assert DATA == read_bytes(here / f"{seed}" / "a", limit=len(DATA))


def test_full_is_full_for_good(here: Location, tmp_path: Path) -> None:
    """Room comes back with the end of the block, not before."""
    for seed in SEEDS:
        store = UnreliableStore(tmp_path / f"log-{seed}", seed, REQUESTS)
        with store.installed():
            for number in range(REQUESTS):
                try:
                    publish(here / f"{seed}-{number}", b"x")
                except NoSpace:
                    break
                except StorageError:
                    continue
            else:
                continue
            with pytest.raises(NoSpace):
                publish(here / f"{seed}-again", b"x")
        publish(here / f"{seed}-again", b"x")
        return
    raise AssertionError("no seed was full")


def test_counting_changes_nothing(here: Location, tmp_path: Path) -> None:
    """Among no requests there are no faults."""
    for seed in SEEDS[:20]:
        store = UnreliableStore(tmp_path / f"log-{seed}", seed, 0)
        assert f"done\nseed {seed} among 0\n" == tried(here / f"{seed}", store)
        assert store.requests > REQUESTS


def test_it_goes_through_the_environment(here: Location, tmp_path: Path) -> None:
    """Another process takes the next numbers of the same requests."""
    seed, told = first_with("it fails, and was not done", here, tmp_path)
    store = UnreliableStore(tmp_path / "log", seed, REQUESTS)
    script = (
        "import sys\n"
        "from audioloom_storage import locate, publish\n"
        "from audioloom_storage_testing import install_from_environment\n"
        "install_from_environment()\n"
        "for number in range(5):\n"
        "    try: publish(locate(sys.argv[1]) / str(number), b'')\n"
        "    except OSError: pass\n"
    )
    environment = {**os.environ, **store.environment()}
    subprocess.run([sys.executable, "-c", script, here.uri], env=environment, check=True)
    assert store.requests > REQUESTS
    assert told.splitlines()[2].split()[1] == store.log.splitlines()[1].split()[1]


@pytest.mark.parametrize("text", ["folder", "folder:1", "folder:a:1", ":1:1"])
def test_a_bad_variable_is_loud(text: str) -> None:
    """A test that injects nothing would pass for nothing."""
    with pytest.raises(ValueError, match="expected FOLDER:SEED:AMONG"):
        install_from_environment({"AUDIOLOOM_STORAGE_UNRELIABLE": text})
