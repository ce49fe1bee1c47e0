import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_voices.cli import main
from voices_registry import Registry


def run(registry: Registry, out: Path, *arguments: str) -> int:
    """Run the command with the test's registry and a cache of its own."""
    cache = out.parent / "cache"
    return main(
        ["debian", str(out), f"--sources={registry.sources}", f"--cache={cache}", *arguments]
    )


@pytest.mark.parametrize("languages", ["xx", "en,", "", "en,xx"])
def test_unknown_languages_end_in_2(
    languages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text lists those there are."""
    with pytest.raises(SystemExit) as stopped:
        main(["debian", str(tmp_path / "out"), f"--languages={languages}"])
    assert stopped.value.code == 2
    assert "expected some of en,es,fr,it,ru" in capsys.readouterr().err


def test_a_missing_sources_file_ends_in_2(tmp_path: Path) -> None:
    """Apt would take it for no sources at all."""
    with pytest.raises(SystemExit) as stopped:
        main(["debian", str(tmp_path / "out"), f"--sources={tmp_path / 'none'}"])
    assert stopped.value.code == 2


def test_a_registry_that_does_not_answer_ends_in_69(
    make_registry: Callable[[], Registry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A code of its own and one line of text, so that a caller can go on without the recordings."""
    registry = make_registry()
    registry.sources.write_text("deb [trusted=yes] http://127.0.0.1:1 ./\n")
    assert run(registry, tmp_path / "out") == 69
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: the package registry does not answer")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_damaged_package_ends_in_65(registry: Registry, tmp_path: Path) -> None:
    """And makes no folder."""
    registry.damage("fr")
    assert run(registry, tmp_path / "out") == 65
    assert not (tmp_path / "out").exists()


def test_an_unknown_package_ends_in_66(registry: Registry, tmp_path: Path) -> None:
    """This registry has no Italian."""
    assert run(registry, tmp_path / "out", "--languages=it") == 66


def test_a_taken_folder_ends_in_73(registry: Registry, tmp_path: Path) -> None:
    """It is left alone."""
    (tmp_path / "out").write_text("mine")
    assert run(registry, tmp_path / "out") == 73
    assert (tmp_path / "out").read_text() == "mine"


def test_a_machine_without_apt_ends_in_78(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to retry there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["debian", str(tmp_path / "out"), f"--cache={tmp_path / 'cache'}"]) == 78


def test_stdout_is_the_folder_alone(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest goes to stderr, so a script can use the answer."""
    assert run(registry, tmp_path / "out", "--languages=ru,en") == 0
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'out'}\n"
    assert "6 recordings (3 ru, 3 en)" in captured.err


def test_help_says_where_things_lie() -> None:
    """The layout, the pattern for label and group, and the exit codes."""
    command = [sys.executable, "-m", "audioloom_voices", "debian", "--help"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for expected in ("OUT/<language>/", "(?P<label>", "(?P<group>", "exit codes", "ru/is.wav"):
        assert expected in text
