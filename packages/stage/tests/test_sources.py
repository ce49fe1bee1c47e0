from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pytest
from audioloom_stage._sources import did_you_mean, read_settings
from audioloom_stage.app import StageApp, command
from audioloom_stage.errors import BadConfiguration, InputMissing, StageError, Usage
from audioloom_stage.result import Result
from audioloom_stage.settings import Positional, Secret, Settings
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator


class RunSettings(Settings):
    lanes: int = Field(24, ge=1, le=100)
    dtype: Literal["float32", "float16"] = "float32"
    share: Literal["auto"] | int = "auto"
    tag: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    model_arg: dict[str, int | str] = Field({})
    shuffle: bool = True
    password: Secret | None = None

    @model_validator(mode="after")
    def _few(self) -> Self:
        if self.lanes == 13 and self.share != "auto":
            raise ValueError("13 lanes have no share")
        return self


class ListSettings(Settings):
    root: str


def read(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    model: type[Settings] = RunSettings,
) -> Any:
    stages = ("featurizer", "sharder", "trainer", "yarn-launcher")
    app = StageApp("sharder", help="x", stages=stages)
    for settings in (ListSettings, model):
        command(app, settings)(lambda _: Result(""))
    return read_settings(
        app.declarations[-1], flags or {}, environ or {}, None if config is None else str(config)
    )


@pytest.fixture
def toml(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "audioloom.toml"
        path.write_text(text)
        return path

    return write


def refused(*sources: Any, kind: type[StageError], **more: Any) -> str:
    with pytest.raises(kind) as caught:
        read(*sources, **more)
    assert kind is type(caught.value)
    return str(caught.value)


class TestFile:
    """A TOML file with a table for each stage."""

    def test_missing(self, tmp_path: Path) -> None:
        """A file that was named must be there: its settings were meant."""
        text = refused({}, {}, tmp_path / "no.toml", kind=InputMissing)
        assert f"{tmp_path}/no.toml: there is no such configuration file" == text

    def test_a_folder(self, tmp_path: Path) -> None:
        """Said in words, and with the path."""
        assert "expected a TOML file, found a folder" in refused(
            {}, {}, tmp_path, kind=BadConfiguration
        )

    def test_not_toml(self, toml: Any) -> None:
        """The line is named."""
        text = refused({}, {}, toml("[sharder]\nlanes\nseed = 1"), kind=BadConfiguration)
        assert "this is not TOML: " in text
        assert "line 2" in text

    def test_not_text(self, tmp_path: Path) -> None:
        """A binary file is no reason for a traceback."""
        path = tmp_path / "x"
        path.write_bytes(b"\xff\xfe")
        assert "expected UTF-8 text" in refused({}, {}, path, kind=BadConfiguration)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[shader]\nlanes = 1", "unknown table shader"),
            ("lanes = 1", "unknown key outside a table: lanes"),
            ("sharder = 1", "expected a table [sharder], found 1"),
            ("[sharder]\nlane = 1", "no setting of sharder is called lane. did you mean lanes?"),
            ("[sharder]\nmodel-arg = 1", "did you mean model_arg?"),
        ],
    )
    def test_a_name_nobody_knows(self, toml: Any, text: str, message: str) -> None:
        """A typing mistake must not become a default."""
        assert message in refused({}, {}, toml(text), kind=BadConfiguration)

    def test_the_nearest_stage_is_named(self, toml: Any) -> None:
        """Tables are known across all stages."""
        assert "did you mean trainer?" in refused({}, {}, toml("[trainee]"), kind=BadConfiguration)

    def test_other_tables_and_other_commands(self, toml: Any) -> None:
        """One file serves all stages, one table all commands of a stage."""
        path = toml('[trainer]\nwhat = 1\n[yarn-launcher]\n[sharder]\nroot = "x"\nlanes = 3')
        assert RunSettings(lanes=3) == read({}, {}, path)

    def test_native_values(self, toml: Any) -> None:
        """TOML has numbers, lists and tables of its own."""
        path = toml('[sharder]\ntag = ["a"]\nshuffle = false\nmodel_arg = {units = 64}')
        expected = RunSettings(tag=("a",), shuffle=False, model_arg={"units": 64})
        assert expected == read({}, {}, path)

    def test_a_wrong_value_names_its_place(self, toml: Any) -> None:
        """File, table, key and item."""
        path = toml('[sharder]\nsizes = [1, "x"]')
        text = refused({}, {}, path, kind=BadConfiguration)
        assert f"{path} [sharder] sizes, item 2: expected a valid integer, found 'x'" == text


class TestVariables:
    """AUDIOLOOM_SHARDER_<FIELD>."""

    def test_misspelt(self) -> None:
        """Of the own stage only; the nearest is named."""
        text = refused({}, {"AUDIOLOOM_SHARDER_LANE": "1"}, kind=BadConfiguration)
        assert "no setting of sharder has the variable AUDIOLOOM_SHARDER_LANE" in text
        assert "did you mean AUDIOLOOM_SHARDER_LANES?" in text

    def test_misspelt_beyond_recognition(self) -> None:
        """Then at least what to do about it."""
        text = refused({}, {"AUDIOLOOM_SHARDER_Q": "1"}, kind=BadConfiguration)
        assert text.endswith("unset AUDIOLOOM_SHARDER_Q")

    def test_of_others_are_left_alone(self) -> None:
        """Other stages, other commands, and the run's own variables."""
        environ = {
            "AUDIOLOOM_TRAINER_LANES": "x",
            "AUDIOLOOM_RUN_FOLDER": "x",
            "AUDIOLOOM_SHARDER_ROOT": "x",
            "AUDIOLOOM_LOG_FORMAT": "json",
        }
        assert RunSettings() == read({}, environ)

    def test_a_wrong_value_names_the_variable(self) -> None:
        """And is a mistake of the configuration, not of the command line."""
        text = refused({}, {"AUDIOLOOM_SHARDER_LANES": "many"}, kind=BadConfiguration)
        assert (
            "the variable AUDIOLOOM_SHARDER_LANES: expected a valid integer, found 'many'" == text
        )

    def test_wrong_pairs(self) -> None:
        """The shape is checked before pydantic sees it."""
        text = refused({}, {"AUDIOLOOM_SHARDER_MODEL_ARG": "x"}, kind=BadConfiguration)
        assert "the variable AUDIOLOOM_SHARDER_MODEL_ARG: expected key=value, found 'x'" == text

    def test_empty_is_not_set(self) -> None:
        """As shells have it."""
        assert RunSettings() == read({}, {"AUDIOLOOM_SHARDER_LANES": ""})

    @pytest.mark.parametrize(("text", "value"), [("no", False), ("1", True), ("FALSE", False)])
    def test_switches(self, text: str, value: bool) -> None:
        """In the words people use."""
        assert value is read({}, {"AUDIOLOOM_SHARDER_SHUFFLE": text}).shuffle


class TestFlags:
    """Words of the command line, as typer hands them over."""

    def test_out_of_bounds(self) -> None:
        """The bound is said."""
        text = refused({"lanes": "0"}, kind=Usage)
        assert "--lanes: expected a value greater than or equal to 1, found '0'" == text

    def test_the_nearest_choice(self) -> None:
        """One of a few words, and which was meant."""
        text = refused({"dtype": "float61"}, kind=Usage)
        assert "expected 'float32' or 'float16', found 'float61'. did you mean float16?" in text

    def test_a_union_is_one_mistake(self) -> None:
        """Pydantic reports each member that did not fit."""
        text = refused({"share": "much"}, kind=Usage)
        assert "--share: expected 'auto' or a valid integer, found 'much'" == text

    def test_several_mistakes_are_said_at_once(self) -> None:
        """The wrong flag decides over the wrong variable: its exit code is 2."""
        environ = {"AUDIOLOOM_SHARDER_LANES": "x"}
        text = refused({"dtype": "x"}, environ, kind=Usage)
        assert "2 settings are wrong" in text
        assert "the variable AUDIOLOOM_SHARDER_LANES: expected" in text
        assert "--dtype: expected" in text

    def test_a_rule_about_several_settings(self) -> None:
        """A model's own rule keeps its own words."""
        assert "13 lanes have no share" == refused({"lanes": "13", "share": "2"}, kind=Usage)
        environ = {"AUDIOLOOM_SHARDER_LANES": "13", "AUDIOLOOM_SHARDER_SHARE": "2"}
        assert "13 lanes have no share" == refused({}, environ, kind=BadConfiguration)

    def test_pairs(self) -> None:
        """Numbers are numbers where the type allows them."""
        assert {"a": 64, "b": "x"} == read({"model_arg": ["a=64", "b=x"]}).model_arg

    def test_what_was_not_given(self) -> None:
        """Typer says None, or nothing in a list."""
        assert RunSettings() == read({"lanes": None, "tag": [], "shuffle": None})


class Needy(Settings):
    features: Annotated[str, Positional("FEATURES")]
    lanes: int
    token: Secret


def test_what_is_required_says_every_way_to_give_it() -> None:
    """Flag, variable and key of the file; a secret has no flag, and a positional that alone."""
    text = refused(kind=Usage, model=Needy)
    for sentence in (
        "FEATURES is required: give it on the command line",
        "lanes is required: give --lanes, set AUDIOLOOM_SHARDER_LANES, or put lanes under",
        "token is required: set AUDIOLOOM_SHARDER_TOKEN, or put token under",
    ):
        assert sentence in text
    assert "AUDIOLOOM_SHARDER_FEATURES" not in text


def test_a_secret_stays_out_of_the_error(toml: Any) -> None:
    """Even when it is what is wrong."""
    text = refused({}, {}, toml("[sharder]\npassword = 5113"), kind=BadConfiguration)
    assert "5113" not in text
    assert "password" in text


@given(
    flag=st.none() | st.integers(1, 100),
    variable=st.none() | st.integers(1, 100),
    key=st.none() | st.integers(1, 100),
)
def test_flag_over_variable_over_file_over_default(
    tmp_path_factory: pytest.TempPathFactory,
    flag: int | None,
    variable: int | None,
    key: int | None,
) -> None:
    """For every combination of what is given and what is not."""
    path = tmp_path_factory.mktemp("config") / "a.toml"
    path.write_text("[sharder]\n" + ("" if key is None else f"lanes = {key}"))
    made = read(
        {"lanes": None if flag is None else str(flag)},
        {} if variable is None else {"AUDIOLOOM_SHARDER_LANES": str(variable)},
        path,
    )
    given_ones = [value for value in (flag, variable, key, 24) if value is not None]
    assert given_ones[0] == made.lanes


def test_did_you_mean_nothing() -> None:
    """A guess that is far off is worse than none."""
    assert "" == did_you_mean("xyz", ["lanes", "seed"])
