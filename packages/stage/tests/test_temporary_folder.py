import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from audioloom_stage.temporary_folder import temporary_folder

OLD = 1_000_000_000.0
PREFIX = "audioloom-toy-"
PROGRAM = f"""
import sys
from audioloom_stage.temporary_folder import temporary_folder
with temporary_folder({PREFIX!r}) as made:
    print(made, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All temporary folders are below that of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_nothing_of_a_failed_process_is_left(tmp_path: Path) -> None:
    """Its own end removes the folder and what is in it."""
    with temporary_folder(PREFIX) as made:
        (made / "copy").write_bytes(b"x")
    with pytest.raises(RuntimeError), temporary_folder(PREFIX):
        raise RuntimeError
    assert [] == list(tmp_path.iterdir())


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    """The folder of a living process stays, and so does what only bears such a name."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    killed, living = (Path(each.stdout.readline().strip()) for each in processes if each.stdout)
    for each in (killed, living):
        (each / "copy").write_bytes(b"x")
        os.utime(each, (OLD, OLD))
    elsewhere, other = tmp_path / "elsewhere", tmp_path / "audioloom-other-x"
    for each in (elsewhere, other):
        each.mkdir()
        os.utime(each, (OLD, OLD))
    link = killed.with_name(f"{killed.name}-link")
    link.symlink_to(elsewhere)
    young = killed.with_name(f"{killed.name}-young")
    young.mkdir()
    processes[0].kill()
    processes[0].communicate()

    with temporary_folder(PREFIX):
        assert not killed.exists()
        assert [living / "copy"] == list(living.iterdir())
    assert {elsewhere, other, living, link, young} == set(tmp_path.iterdir())

    processes[1].communicate("")
    assert 0 == processes[1].returncode
    assert not living.exists()
