"""The user's arguments for a function: what stands in a manifest, and what the function gets.

A manifest, a report and a command line are read by others, so a secret does not stand in them:
`hf_token=env:HF_TOKEN` says where it is, and the function gets the variable's value. The reference
alone is in the recipe, so that another value makes no other run.
"""

import os
from collections.abc import Mapping

from audioloom_stage import (
    BadConfiguration,
    is_secret_name,
    redact,
    redact_values,
    redact_words,
    remember,
)

Value = str | int | float | bool | None
Arguments = Mapping[str, Value]

_REFERENCE = "env:"
_LONG = 6
"""Digits: a shorter number under a name such as `token` counts or chooses something."""


def check_no_secret(arguments: dict[str, Value]) -> dict[str, Value]:
    """The arguments, if no secret is among them.

    Raises:
        ValueError: one is, by its name or by what it looks like.
    """
    for name, value in arguments.items():
        if _is_secret(name, value):
            raise ValueError(
                f"{name} is a secret, and would stand in the manifest: put it in a variable of the"
                f" environment, and give {name}={_REFERENCE}VARIABLE"
            )
    return arguments


def _is_secret(name: str, value: Value) -> bool:
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, str):
        by_name = is_secret_name(name) and redact_values({name: value}) != {name: value}
        return by_name or redact(value) != value
    if redact_words([f"{name}={value}"]) != (f"{name}={value}",):  # of such a name it is always one
        return True
    digits = sum(each.isdigit() for each in str(value))
    # The number of a word in a vocabulary is called `image_token_id`, and may be as long.
    return is_secret_name(name) and digits >= _LONG and not name.lower().endswith("id")


def with_secrets(arguments: Arguments) -> dict[str, Value]:
    """The arguments with each `env:VARIABLE` replaced by its value, which is masked from then on.

    Raises:
        BadConfiguration: there is no such variable.
    """
    found = dict(arguments)
    for name, value in arguments.items():
        if not isinstance(value, str) or not value.startswith(_REFERENCE):
            continue
        variable = value.removeprefix(_REFERENCE)
        if variable not in os.environ:
            raise BadConfiguration(
                "an argument comes from a variable that is not set",
                where=f"{name}={value}",
                expected=f"{variable} in the environment",
                found="no such variable",
                hint=f"Under a launcher, pass it on: --env {variable}",
            )
        found[name] = os.environ[variable]
        remember(os.environ[variable])
    return found
