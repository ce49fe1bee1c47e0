import os
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_voices.cli import main


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "audioloom_voices", "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--voices", "13"],
        ["--voices", "0"],
        ["--sentences", "many"],
        ["--sentences", "41"],
        ["--difficulty", "extreme"],
        ["--seed", "x"],
    ],
)
def test_wrong_settings_end_in_2_and_make_nothing(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text names the setting."""
    with pytest.raises(SystemExit) as stopped:
        main(["demo", str(tmp_path / "out"), *arguments])
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_taken_folder_ends_in_73(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence on stderr, nothing on stdout."""
    (tmp_path / "mine").touch()
    assert main(["demo", str(tmp_path)]) == 73
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: expected ")
    assert captured.err.count("\n") == 1


def test_a_folder_that_cannot_be_made_ends_in_73(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file stands where a parent should be."""
    (tmp_path / "file").touch()
    assert main(["demo", str(tmp_path / "file" / "out"), "--sentences=1"]) == 73
    assert f"error: {tmp_path / 'file'}: " in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_place_ends_in_77(tmp_path: Path) -> None:
    """Permission is another matter than a taken name."""
    tmp_path.chmod(0o500)
    assert main(["demo", str(tmp_path / "out"), "--sentences=1"]) == 77


def test_two_runs_give_the_same_bytes_and_stdout_is_the_folder(tmp_path: Path) -> None:
    """In processes of their own, so nothing hangs on addresses or hash seeds."""
    for name in ("a", "b"):
        done = run(str(tmp_path / name), "--sentences=2", "--voices=2", "--difficulty=hard")
        assert (0, f"{tmp_path / name}\n") == (done.returncode, done.stdout), done.stderr
        assert "16 recordings" in done.stderr
    first, second = (
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.wav")}
        for name in ("a", "b")
    )
    assert len(first) == 16
    assert first == second


def test_help_says_where_things_lie() -> None:
    """The layout, the pattern for label and group, and the exit codes."""
    text = run("--help").stdout
    for expected in ("OUT/<class>/", "(?P<label>", "(?P<group>", "exit codes", "surprised"):
        assert expected in text
