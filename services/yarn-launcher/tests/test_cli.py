import subprocess
import sys

import pytest
from audioloom_yarn_launcher.cli import main
from help_rules import broken_rules

HEAVY = {"structlog", "fsspec", "asyncio", "audioloom_manifest", "audioloom_storage"}


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["logs", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """It answers before any of what the commands need is loaded."""
    code = f"""
import sys
from audioloom_yarn_launcher.cli import main
main({words!r})
sys.stderr.write(" ".join(sorted({HEAVY!r} & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage" in done.stdout
    assert "" == done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--root", "x"], "COMMAND"),
        (["run", "--", "true"], "--root"),
        (["run", "--root", "x", "--workers", "0", "--", "true"], "--workers"),
        (["run", "--root", "x", "--name", "../up", "--", "true"], "--name"),
        (["run", "--root", "x", "--on", "mars", "--", "true"], "local"),
        (["run", "--root", "ftp://x", "--", "true"], "ftp"),
    ],
)
def test_wrong_words_are_answered_with_what_is_right(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing on stdout."""
    assert 2 == main(words)
    captured = capsys.readouterr()
    assert "" == captured.out
    assert told in captured.err


def test_a_worker_starts_light_and_refuses_what_the_launcher_would_not_write() -> None:
    """It loads neither the commands for people nor what a server needs."""
    light = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "audioloom_yarn_launcher",
            "worker",
            "--connection=x",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    loaded = {line.rpartition("|")[2].strip() for line in light.stderr.splitlines() if "|" in line}
    assert {"audioloom_yarn_launcher.worker.agent"} <= loaded
    assert set() == {"pydantic", "typer", "structlog", "asyncio", "fsspec"} & loaded
    assert 2 == light.returncode
    assert "invalid int value: 'x'" in light.stderr


@pytest.mark.parametrize("verb", ["worker", "coordinator", "probe", "run"])
def test_a_module_that_cannot_be_imported_is_a_bad_configuration(verb: str) -> None:
    """Of every entry: its name is the last line, by which a lost worker is known."""
    lacking = (
        "import sys\n"
        "sys.modules['audioloom_storage'] = sys.modules['audioloom_stage'] = None\n"
        "from audioloom_yarn_launcher.__main__ import main\n"
        f"sys.argv = ['audioloom-yarn-launcher', {verb!r}]\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lacking], capture_output=True, text=True, check=False
    )
    assert 78 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")


def test_every_help_text_keeps_the_rules() -> None:
    """Short sentences, options in groups, and no variable that means two things."""
    from audioloom_yarn_launcher.cli import app

    assert [] == broken_rules(app)
