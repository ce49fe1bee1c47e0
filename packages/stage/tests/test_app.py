from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from audioloom_stage._options import COMMON_FLAGS, options
from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result
from audioloom_stage.settings import Flag, Positional, Settings
from pydantic import Field, create_model

TOY = Path(__file__).with_name("toy.py")


def declare(**fields: Any) -> None:
    settings = create_model("Wrong", __base__=Settings, **fields)
    command(StageApp("toy", help="x"), settings)(lambda _: Result(""))


@pytest.mark.parametrize(
    "fields",
    [
        {"debug": (bool, False)},
        {"config": (str, "")},
        {"help": (str, "")},
        {"a": (int, 1, Flag("-v"))},
        {"shuffle": (bool, True), "no_shuffle": (bool, True)},
    ],
)
def test_two_options_with_one_flag_are_refused(fields: dict[str, Any]) -> None:
    """When the program starts, and not when somebody uses the flag."""
    made = {
        name: (Annotated[spec[0], *spec[2:]], spec[1]) if spec[2:] else spec
        for name, spec in fields.items()
    }
    with pytest.raises(TypeError, match="two options have the flag -"):
        declare(**made)


def test_the_function_stays_as_it_was() -> None:
    """Tests call it with settings of their own."""

    class RunSettings(Settings):
        lanes: int = 1

    app = StageApp("toy", help="x")

    @command(app, RunSettings)
    def run(settings: RunSettings) -> Result:
        return Result(str(settings.lanes))

    assert "3" == run(RunSettings(lanes=3)).text


def test_one_command_is_still_named(capsys: pytest.CaptureFixture[str]) -> None:
    """`audioloom-toy run` must not become `audioloom-toy` while there is only one."""

    class RunSettings(Settings):
        pass

    app = StageApp("toy", help="x")
    command(app, RunSettings, name="run-all")(lambda _: Result("ran"))
    assert 0 == run_app(app)(["run-all", "--log-format", "console"])
    assert "ran\n" == capsys.readouterr().out


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    """A stage need not say it twice."""
    app = StageApp("stage", help="x")
    command(app, create_model("Empty", __base__=Settings))(lambda _: Result(""))
    assert 0 == run_app(app)(["--version"])
    assert "audioloom-stage 0.1.0\n" == capsys.readouterr().out


def test_a_program_may_have_another_name_than_its_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its help, its version and its errors name it; the stage names variables and table."""
    app = StageApp("toy", help="x", program="audioloom-stage")
    command(app, create_model("Empty", __base__=Settings), name="run")(lambda _: Result(""))
    assert 0 == run_app(app)(["--version"])
    assert "audioloom-stage 0.1.0\n" == capsys.readouterr().out
    assert 0 == run_app(app)(["--help"])
    assert "Usage: audioloom-stage " in capsys.readouterr().out
    assert "audioloom.toy.run" == app.kind_of(["run"])


def test_the_help_of_a_command(toy: Any) -> None:
    """Every setting with its default, its choices, its short form; and its group."""
    done = toy("run", "--help")
    page = " ".join(done.stdout.split())
    for text in (
        "Usage: audioloom-toy run [OPTIONS] WHAT [MORE...]",
        "Do WHAT it is told.",
        "WHAT What to do. [required]",
        "Options: --lanes INT How many lanes. [default: 24]",
        "--rate NUMBER How fast.",
        "--tag TEXT What else. [repeatable]",
        "--model-arg KEY=VALUE What for. [repeatable]",
        "--shuffle / --no-shuffle Whether to mix. [default: on]",
        "AUDIOLOOM_TOY_PASSWORD What nobody may see. [variable or file only]",
        "--slow Whether to take time. AUDIOLOOM_TOY_PASSWORD",
        "Shape of things: --share auto|INT How much. [default: auto]",
        "--dtype float32|float16 How wide. [default: float32]",
        "--colour red|blue How bright. [default: red]",
        "Hands: -w, --workers INT How many hands. [default: 1]",
        "Common options: --config FILE.toml File with the settings of all stages, one table each.",
        "-v, --verbose Log details too.",
    ):
        assert text in page
    assert (0, "") == (done.returncode, done.stderr)
    assert "--password" not in page
    assert "variable:" not in page


def test_the_help_with_the_variables(toy: Any) -> None:
    """They are asked for, and a positional has none."""
    done = toy("run", "--help-all")
    page = " ".join(done.stdout.split())
    for text in (
        "--lanes INT How many lanes. [default: 24; variable: AUDIOLOOM_TOY_LANES]",
        "--rate NUMBER How fast. [variable: AUDIOLOOM_TOY_RATE]",
        "--tag TEXT What else. [repeatable; variable: AUDIOLOOM_TOY_TAG]",
        "one table each. [variable: AUDIOLOOM_CONFIG]",
        "WHAT What to do. [required]",
    ):
        assert text in page
    assert (0, "") == (done.returncode, done.stderr)


def test_commands_of_two_words(toy: Any) -> None:
    """The first has a page of its own, with the commands below it."""
    page = " ".join(toy("pen", "--help").stdout.split())
    assert "Usage: audioloom-toy pen [OPTIONS] COMMAND" in page
    assert "Hold sheep." in page
    assert "list List the sheep in the pen." in page
    assert "pen Hold sheep." in " ".join(toy("--help").stdout.split())
    assert "Usage: audioloom-toy pen list [OPTIONS]" in toy("pen", "list", "--help").stdout
    done = toy("pen", "list", "--root", "/meadow", "-q")
    assert (0, "no sheep in /meadow\n") == (done.returncode, done.stdout)


def test_a_group_of_nothing_is_refused() -> None:
    """A misspelt field would stand among the others, and nobody would see it."""
    with pytest.raises(TypeError, match=r"no field of the group Pens: \{'lane'\}"):
        options(type("Wrong", (Settings,), {"groups": {"Pens": "lane"}}), "toy")


@pytest.mark.parametrize(
    ("kind", "other"), [(int, str), (int, Annotated[int, Field(ge=1)]), (Path | None, str)]
)
def test_two_settings_with_one_variable_are_refused(kind: Any, other: Any) -> None:
    """A variable that serves two commands means the same to both."""
    app = StageApp("toy", help="x")
    for name, each in (("one", kind), ("two", other)):
        model = create_model("Made", __base__=Settings, lanes=(each, ...))
        command(app, model, name=name)(lambda _: Result(""))
    with pytest.raises(TypeError, match="one and two share the variable AUDIOLOOM_TOY_LANES"):
        _ = app.known


def test_a_positional_shares_no_variable() -> None:
    """It has none: it may be called as another command's setting."""
    app = StageApp("toy", help="x")
    place = create_model("Made", __base__=Settings, lanes=(Annotated[str, Positional()], ...))
    command(app, place, name="one")(lambda _: Result(""))
    assert frozenset() == app.known
    command(app, create_model("Made", __base__=Settings, lanes=(int, 1)), name="two")(
        lambda _: Result("")
    )
    assert frozenset(["lanes"]) == app.known


def test_the_help_of_the_stage(toy: Any) -> None:
    """What it is for, its commands, and what exit codes mean."""
    page = " ".join(toy("--help").stdout.split())
    assert "Misbehave in tests." in page
    assert "run Do WHAT it is told." in page
    assert "list Say many lines." in page
    assert "75 try again" in page
    assert "in a sentence that is longer than one line of a terminal." in page


def test_help_fits_the_terminal(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a hundred characters, where reading stays easy."""
    monkeypatch.setenv("COLUMNS", "300")
    longest = max(map(len, toy("run", "--help").stdout.splitlines()))
    assert 80 < longest <= 100


LIGHT = """
import sys
from audioloom_stage.app import command, StageApp
from audioloom_stage.program import run_app
from audioloom_stage.result import Result
from audioloom_stage.settings import Settings
class RunSettings(Settings):
    lanes: int = 24
app = StageApp("toy", help="x")
command(app, RunSettings, name="run")(lambda settings: Result(""))
code = run_app(app)(["run", "--help"])
heavy = {"structlog", "rich", "asyncio", "tomllib", "audioloom_storage", "audioloom_manifest"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_help_imports_nothing_that_costs() -> None:
    """Python, typer and pydantic are a third of a second already."""
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert "Usage: audioloom-toy run" in done.stdout
    assert "[]\n" == done.stderr


STAGE = """
import sys
from audioloom_stage.app import command, StageApp
from audioloom_stage.program import run_app
app = StageApp("stage", help="x", package="late")
@command(app, "RunSettings", "run:run")
def run() -> None:
    "Do it."
code = run_app(app)(sys.argv[1:])
print(sorted({"pydantic", "structlog"} & set(sys.modules)), file=sys.stderr)
raise SystemExit(code)
"""


@pytest.mark.parametrize(
    ("words", "said", "imported"),
    [
        (["--help"], "Do it.", "[]"),
        (["--version"], "audioloom-stage 0.1.0", "[]"),
        (["run", "--help-all"], "AUDIOLOOM_STAGE_LANES", "['pydantic']"),
        (["run", "--lanes", "3", "-q"], "3\n", "['pydantic', 'structlog']"),
    ],
)
def test_model_and_function_may_be_found_by_name(
    tmp_path: Path, words: list[str], said: str, imported: str
) -> None:
    """Then the list of commands costs half of what one command's help costs."""
    for path, lines in {
        "cli.py": [STAGE],
        "late/settings.py": [
            "from audioloom_stage.settings import Settings",
            "class RunSettings(Settings):",
            "    lanes: int = 24",
        ],
        "late/commands/run.py": [
            "from audioloom_stage.result import Result",
            "def run(settings):",
            "    return Result(str(settings.lanes))",
        ],
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n".join([*lines, ""]))
    done = subprocess.run(
        [sys.executable, tmp_path / "cli.py", *words], capture_output=True, text=True, check=True
    )
    assert said in done.stdout
    assert f"{imported}\n" == done.stderr


def test_every_common_flag_is_reserved(toy: Any) -> None:
    """The list that settings are checked against is the list that the help shows."""
    section = toy("verify", "--help").stdout.partition("Common options:")[2]
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", section)) == COMMON_FLAGS


def test_completion_offers_commands_flags_and_choices() -> None:
    """With typer's own machinery, which runs the program."""

    def complete(words: str, at: int) -> list[str]:
        variables = {
            "_AUDIOLOOM_TOY_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(at),
        }
        done = subprocess.run(
            [sys.executable, TOY],
            capture_output=True,
            text=True,
            env=os.environ | variables,
            check=True,
        )
        return done.stdout.split()

    assert ["verify"] == complete("audioloom-toy ver", 1)
    assert ["--lanes"] == complete("audioloom-toy run --lan", 2)
    assert ["float16", "float32"] == complete("audioloom-toy run --dtype fl", 3)


def test_every_setting_says_what_it_is() -> None:
    """A field without a description still has a help line."""

    class Bare(Settings):
        lanes: int = Field(3)

    app = StageApp("toy", help="x")
    command(app, Bare, name="run")(lambda _: Result(""))
    assert 0 == run_app(app)(["run", "--help"])
