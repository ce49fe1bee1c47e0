"""Secrets among the user's arguments: named, never given."""

from __future__ import annotations

from typing import Any

import pytest
from audioloom_stage import redaction
from audioloom_stage.arguments import check_no_secret, with_secrets
from audioloom_stage.errors import BadConfiguration
from audioloom_stage.redaction import redact
from audioloom_trainer.settings import RunSettings
from pydantic import ValidationError


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "known_secrets", set())


@pytest.mark.parametrize(
    "arguments",
    [
        {"hf_token": "hunter2"},
        {"apiKey": "hunter2"},
        {"db.password": "1234567"},
        {"weights": "https://me:hunter2@h/w.npz"},
        {"weights": "https://h/w.npz?sig=hunter2"},
        {"x": "hf_" + "aB3" * 11},
        {"weights": "ftp://hunter2@h/w.npz"},
        {"creds": "hunter2"},
        {"jwt": "hunter2"},
        {"cookie": "hunter2"},
        {"bearer": "hunter2"},
        {"password": 20240817},
        {"password": -0.5},
        {"api_key": 0.5},
        {"hf_token": 123456789},
        {"db_pwd": 123456},
    ],
)
@pytest.mark.parametrize("field", ["model_arg", "callback_arg"])
def test_a_secret_is_refused_in_clear(field: str, arguments: dict[str, Any]) -> None:
    """By its name or its form, with the way to give it; without repeating it."""
    given = {"shards": "s", "callbacks": "a:b", field: arguments}
    with pytest.raises(ValidationError) as refused:
        RunSettings.model_validate(given)
    (error,) = refused.value.errors()
    (name,) = arguments
    assert f"{name}=env:VARIABLE" in error["msg"]
    assert str(arguments[name]) not in error["msg"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"hf_token": "env:HF_TOKEN"},
        {"token_count": 3, "pad_token": "<pad>", "units": 64, "use_auth": False, "token": None},
        {"key": "C", "author": "me", "name": "low_pass", "tokenizer": "bert"},
        {"token_file": "/run/secrets/hf"},
        {"pad_token": 0, "image_token_id": 128256, "hf_token": 12345, "max_tokens": 1_000_000},
        {"units": 1_000_000, "password": None, "learning_rate": 1.234567e-5, "api_key": True},
    ],
)
def test_ordinary_arguments_stay(arguments: dict[str, Any]) -> None:
    """And references to variables."""
    assert arguments == check_no_secret(arguments)


def test_the_function_gets_what_is_in_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on it is masked, in whatever text it comes up."""
    monkeypatch.setenv("OUR_TOKEN", "swordfish")
    given = {"hf_token": "env:OUR_TOKEN", "units": 3}
    assert {"hf_token": "swordfish", "units": 3} == with_secrets(given)
    assert "env:OUR_TOKEN" == given["hf_token"]
    assert "swordfish" not in redact("no access with swordfish")


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a fault of configuration."""
    monkeypatch.delenv("OUR_TOKEN", raising=False)
    with pytest.raises(BadConfiguration, match="OUR_TOKEN"):
        with_secrets({"hf_token": "env:OUR_TOKEN"})
