"""A cluster that several programs share, with a program that stands for it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from audioloom_mini_cluster.errors import NotReady
from audioloom_mini_cluster.faults import until
from audioloom_mini_cluster.shared_cluster import description
from cluster_stand_in import READY, stand_in

UNTIL_THE_END = """
open({starts!r}, "a").write("x")
{{ready}}
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What the owner of a shared cluster makes."""
    folder = tmp_path / "place"
    folder.mkdir()
    os.mkfifo(folder / "input")
    return folder


@pytest.fixture
def owner(place: Path) -> Iterator[int]:
    """The write end of the FIFO."""
    held = os.open(place / "input", os.O_RDWR)
    yield held
    os.close(held)


@pytest.fixture
def python(tmp_path: Path) -> str:
    return stand_in(tmp_path, UNTIL_THE_END.format(starts=str(tmp_path / "starts")))


@pytest.mark.usefixtures("owner")
def test_the_first_that_asks_starts_it(place: Path, python: str, tmp_path: Path) -> None:
    """Those that ask meanwhile, or later, get the same one."""
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: description(place, python), range(4)))
    assert [found[0]] * 4 == found
    assert READY["hdfs"] == found[0]["hdfs"]
    assert "x" == (tmp_path / "starts").read_text()


@pytest.mark.usefixtures("owner")
def test_one_that_is_gone_is_started_again(place: Path, python: str, tmp_path: Path) -> None:
    """Its line stays in the file, but its process is a zombie, and later none."""
    first = description(place, python)
    os.kill(first["process"], 9)
    until(lambda: not Path(f"/proc/{first['process']}/cmdline").read_bytes(), "it has ended")
    assert first["process"] != description(place, python)["process"]
    os.waitpid(first["process"], 0)
    assert "xx" == (tmp_path / "starts").read_text()


def test_it_ends_with_its_owner(place: Path, python: str) -> None:
    """Even one that was killed: nobody holds the FIFO open any more."""
    held = os.open(place / "input", os.O_RDWR)
    found = description(place, python)
    assert (0, 0) == os.waitpid(found["process"], os.WNOHANG)
    os.close(held)
    assert (found["process"], 0) == os.waitpid(found["process"], 0)


@pytest.mark.usefixtures("owner")
def test_one_that_does_not_start(place: Path, tmp_path: Path) -> None:
    """The next program tries again."""
    for _ in range(2):
        with pytest.raises(NotReady, match="exit code 69"):
            description(place, stand_in(tmp_path, "sys.exit(69)"))


def test_the_line_of_a_terminal(tmp_path: Path) -> None:
    """A person has started that cluster, and ends it."""
    (tmp_path / "line").write_text(json.dumps(READY))
    assert READY == description(tmp_path / "line", "/nowhere")
