from __future__ import annotations

import copy
import json
import pickle

import pytest
from audioloom_stage.settings import Secret, Settings
from pydantic import ValidationError


class Login(Settings):
    user: str = "ada"
    password: Secret


LOGIN = Login.model_validate({"password": "sesame"})


def test_a_secret_is_not_pickled() -> None:
    """It cannot travel into a Spark task unnoticed."""
    with pytest.raises(TypeError, match="a secret is not pickled"):
        pickle.dumps(LOGIN)


@pytest.mark.parametrize(
    "text",
    [
        repr(LOGIN),
        str(LOGIN),
        str(LOGIN.password),
        f"{LOGIN.password}",
        LOGIN.model_dump_json(),
        json.dumps(LOGIN.model_dump()),
        json.dumps(LOGIN.model_dump(mode="json")),
        str(dict(LOGIN)),
        str(vars(LOGIN.password.__class__)),
        str(LOGIN.model_json_schema()),
    ],
    ids=range(10),  # the texts hold addresses
)
def test_a_secret_is_written_nowhere(text: str) -> None:
    """Every form of showing a model shows stars."""
    assert "sesame" not in text


def test_a_secret_is_there_for_who_asks() -> None:
    """It has to be of use."""
    assert "sesame" == LOGIN.password.get_secret_value()
    assert LOGIN == copy.deepcopy(LOGIN)


@pytest.mark.parametrize("wrong", [3, None, ["sesame"]])
def test_a_secret_that_is_no_text_is_refused_without_being_shown(wrong: object) -> None:
    """A number in a TOML file may be somebody's password too."""
    with pytest.raises(ValidationError) as caught:
        Login.model_validate({"password": wrong})
    assert "sesame" not in str(caught.value)


def test_settings_are_frozen_and_closed() -> None:
    """What a run recorded is what it ran with."""
    with pytest.raises(ValidationError, match="frozen"):
        LOGIN.user = "eve"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Login.model_validate({"password": "x", "pasword": "y"})
