"""The user's arguments for a function: their form in a manifest and their values.

Other people read a manifest, a report or a command line, so none of these may hold a secret.
`hf_token=env:HF_TOKEN` names a variable, and the function gets its value. The recipe holds only
the reference, so another value of the secret makes no other run.
"""

import os
from collections.abc import Mapping

from audioloom_stage.errors import BadConfiguration
from audioloom_stage.redaction import is_secret_name, redact, redact_values, redact_words, remember

Value = str | int | float | bool | None

_REFERENCE = "env:"
_LONG = 6
"""Digits: a shorter number under a name such as `token` counts or chooses something."""


def check_no_secret(arguments: dict[str, Value]) -> dict[str, Value]:
    """Return the arguments unchanged; ValueError if one has the name or the form of a secret."""
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
    if redact_words([f"{name}={value}"]) != (f"{name}={value}",):  # the name is that of a secret
        return True
    digits = sum(each.isdigit() for each in str(value))
    # `image_token_id` is the number of a word in a vocabulary, and may be as long as a secret.
    return is_secret_name(name) and digits >= _LONG and not name.lower().endswith("id")


def with_secrets(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """Replace each `env:VARIABLE` by the variable's value, and mask the value in all output.

    BadConfiguration is raised if the variable is not set.
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
