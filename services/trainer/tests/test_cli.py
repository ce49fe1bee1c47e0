"""The command line: what it costs to ask for help, and what a wrong word is told."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from help_rules import broken_rules
from trainer_program import SMALL, Trained

HEAVY = ("tensorflow", "keras", "numpy", "structlog", "fsspec", "h5py")


def imported(words: list[str], of: tuple[str, ...]) -> tuple[int, list[str]]:
    """Which of some modules a command imports, in a process of its own, and its exit code."""
    program = (
        "import sys; from audioloom_trainer.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {of} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stderr.splitlines()[-1].replace("'", '"'))


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """Neither TensorFlow nor Keras nor NumPy is loaded to print a page."""
    assert (0, []) == imported(words, HEAVY)


def test_the_list_of_commands_does_without_pydantic() -> None:
    """It would be most of the time that the page takes."""
    assert (0, []) == imported(["--help"], ("pydantic", "audioloom_trainer.settings"))


@pytest.mark.parametrize("verb", ["run", "why", "inspect", "verify", "list", "gc"])
def test_what_needs_no_model_imports_no_tensorflow(trained: Trained, verb: str) -> None:
    """A run that is committed is recognised by its manifest, and shown from it."""
    words = {
        "run": ["run", str(trained.root / "shards" / "demo"), *SMALL],
        "why": ["why", str(trained.root / "shards" / "demo"), "--seed", "9"],
        "inspect": ["inspect", str(trained.run.folder)],
        "verify": ["verify", str(trained.run.folder)],
    }.get(verb, [verb, "--root", str(trained.root)])
    assert (0, []) == imported(words, ("tensorflow", "keras"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--epochs", "0"], "--epochs"),
        (["--batch-size", "many"], "--batch-size"),
        (["--seed", "-1"], "--seed"),
        (["--shuffle-window", "0"], "--shuffle-window"),
        (["--checkpoint-interval", "0"], "--checkpoint-interval"),
        (["--keep-checkpoints", "0"], "--keep-checkpoints"),
        (["--cache-bytes", "12XB"], "a size such as 8GB, 8GiB or 65536"),
        (["--cache-bytes", "0"], "a value greater than 0"),
        (["--name", "../x"], "--name"),
        (["--model-arg", "filters"], "--model-arg"),
        (["--root", "ftp://bucket/x"], "ftp://"),
        (["--batchsize", "3"], "--batch-size"),
    ],
)
def test_wrong_words_are_usage(
    trainer: Callable, trained: Trained, words: list[str], text: str
) -> None:
    """Exit code 2, and what was meant; nothing on stdout."""
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert (2, "") == (ran.code, ran.out)
    assert text in ran.err


def test_settings_come_from_a_file(trainer: Callable, trained: Trained, tmp_path: Path) -> None:
    """A table of the trainer; a key of another of its commands is passed over."""
    config = tmp_path / "loom.toml"
    config.write_text(
        "[trainer]\nepochs = 2\nbatch_size = 16\nmodel_arg = {filters = 4}\nolder_than = '3h'\n"
    )
    ran = trainer("run", trained.root / "shards" / "demo", "--config", config, "--json")
    assert (0, True) == (ran.code, ran.data["already_committed"])


def test_all_commands_have_a_help_page(trainer: Callable) -> None:
    """Each with its settings."""
    for command in ("run", "evaluate", "export", "inspect", "verify", "list", "gc"):
        ran = trainer(command, "--help")
        assert 0 == ran.code
        assert "--json" in ran.out


def test_stdout_is_the_result_alone(trained: Trained) -> None:
    """One line, the manifest, though TensorFlow talks; people read the rest on stderr."""
    assert f"{trained.run.location}\n" == trained.ran.out
    told, folder = trained.ran.err, trained.run.folder
    number = r"\d\.\d{4}"
    for expected in (
        "importing TensorFlow\n",
        rf"epoch 1/\d+  loss {number}  accuracy {number}.* \| val loss {number}",
        rf"test: loss {number}  accuracy {number}.*  \(chance {number}, majority {number}\)\n",
        rf"committed after (\d+ min )?\d+ s; the report: {folder}/report-[0-9a-f]+\.html\n",
        f"next: audioloom-trainer inspect {folder}\n",
    ):
        assert re.search(expected, told), (expected, told)
    assert "{" not in told


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't:DeprecationWarning")
def test_the_commands_that_are_shown_next_work(
    trainer: Callable, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are pasted as they are, by people who trust them."""
    monkeypatch.chdir(tmp_path)
    shown = [line for line in trained.ran.err.splitlines() if line.startswith("next: ")]
    commands = [shlex.split(each.removeprefix("next: ")) for each in shown]
    assert ["inspect", "export"] == [words[1] for words in commands]
    for program, *words in commands:
        assert "audioloom-trainer" == program
        assert 0 == trainer(*words).code
    assert (tmp_path / f"{trained.run.manifest.name}.keras").is_file()


@pytest.mark.parametrize("verb", ["run", "inspect", "verify", "list", "gc", "evaluate"])
def test_json_is_one_object_with_kind_and_version(
    trainer: Callable, trained: Trained, verb: str
) -> None:
    """On one line, for programs."""
    words: dict[str, tuple[object, ...]] = {
        "run": (trained.root / "shards" / "demo", *SMALL),
        "inspect": (trained.run.folder,),
        "verify": (trained.run.folder,),
        "evaluate": (trained.run.folder, "--split", "val"),
    }
    ran = trainer(verb, *words.get(verb, ("--root", trained.root)), "--json")
    assert (0, 1) == (ran.code, ran.out.count("\n"))
    assert (f"audioloom.trainer.{verb}", 1) == (ran.data["kind"], ran.data["version"])


def test_a_module_that_cannot_be_imported_is_a_bad_configuration() -> None:
    """Also one that the command line itself needs: a gang of such programs is not started anew."""
    lacking = (
        "import sys\n"
        "sys.modules['audioloom_stage'] = None\n"
        "from audioloom_trainer.__main__ import main\n"
        "sys.argv = ['audioloom-trainer', 'list']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lacking], capture_output=True, text=True, check=False
    )
    assert 78 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")


def test_every_help_text_keeps_the_rules() -> None:
    """Short sentences, options in groups, and no variable that means two things."""
    from audioloom_trainer.cli import app

    assert [] == broken_rules(app)
