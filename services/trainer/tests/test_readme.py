"""What the README shows is run as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from audioloom_stage.exit_codes import ExitCode
from shard_maker import make_shards
from trainer_program import Trained, Trainer

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't:DeprecationWarning")
def test_the_commands_work_in_their_order(
    trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the model that the README shows, and shards under ROOT."""
    make_shards(tmp_path / "ROOT", records={"train": 60, "val": 12}, lanes=6)
    (tmp_path / "model.py").write_text(block("python"))
    monkeypatch.chdir(tmp_path)
    run = ""
    for line in block("console").splitlines():
        captured = re.fullmatch(r"\$ run=\$\((.*)\)", line)
        command = captured[1] if captured else line.removeprefix("$ ")
        program, *words = shlex.split(command.replace("$run", run), comments=True)
        assert "audioloom-trainer" == program
        ran = trainer(*words)
        assert 0 == ran.code, f"{line}\n{ran.err}"
        run = ran.out.strip() if captured else run
    assert Path(run).is_file()
    assert ".keras" in {path.suffix for path in (tmp_path / "models").iterdir()}


def test_a_run_folder_holds_what_the_tree_shows(trained: Trained) -> None:
    """Each file has a line, and each line a file."""
    tree = TEXT.partition("ROOT/runs/NAME/\n")[2].partition("```")[0]
    names = re.findall(r"^  \S+|\S+\.jsonl", tree, re.MULTILINE)
    patterns = [
        re.sub("/$", "/.+", re.escape(name.strip()))
        .replace("…", "[0-9a-z.]{12,}")
        .replace("00000010", "[0-9]{8}")
        for name in names
    ]
    folder = Path(trained.run.folder.path)
    files = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert [] == [file for file in files if not any(re.fullmatch(p, file) for p in patterns)]
    assert [] == [p for p in patterns if not any(re.fullmatch(p, file) for file in files)]


def test_the_exit_codes_are_those_of_the_table() -> None:
    """Each that is named exists."""
    named = re.findall(r"\b(6[4-9]|7[0-9])\b", TEXT.partition("Exit codes:")[2])
    assert {65, 66, 73, 74, 75, 78} == {int(code) for code in named}
    assert {int(code) for code in named} <= {int(code) for code in ExitCode}
