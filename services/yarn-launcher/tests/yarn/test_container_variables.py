"""What is given as a variable arrives as it was given."""

import subprocess

import pytest
from audioloom_yarn_launcher.yarn.application_spec import CARRIED, carry, unwrap
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,7}", fullmatch=True).map("OUR_".__add__)
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)


@pytest.mark.parametrize(
    "value",
    ['{"a": 1}', "$HOME", "`id`", "a\\b", "{{PWD}}", '{"a":{"b":1}}', "a<CPS>b", "two\nlines"],
)
def test_what_a_script_would_change_is_wrapped_up(value: str) -> None:
    """Quotes, dollars, backticks, backslashes, lines, and YARN's own signs."""
    carried = carry({"A": value, "B": "plain"})
    assert {"B", CARRIED} == set(carried)
    assert {"A": value, "B": "plain"} == unwrap(carried)


def test_what_arrives_by_itself_is_left_as_it_is() -> None:
    """For the container too: a path, an address, a list; and all that a NodeManager reads."""
    given = {
        "LD_PRELOAD": "/lib/x.so",
        "OPTIONS": "-Da='b c' {x} <y> #!*~",
        "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS": "/a$b:/c:ro",
    }
    assert given == carry(given)


def test_the_python_of_the_node_is_not_the_commands() -> None:
    """What the container has of itself goes; what was asked for stays."""
    there = {"PYTHONPATH": "/node", "PYTHONHOME": "/node", "A": "b"}
    assert {"A": "b"} == unwrap(there)
    assert {"A": "b", "PYTHONPATH": "mine"} == unwrap({**there, **carry({"PYTHONPATH": "mine"})})


@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_the_script_of_a_container_changes_nothing(variables: dict[str, str]) -> None:
    """Written as YARN writes them, and read by a real shell."""
    lines = [f'export {name}="{value}"\n' for name, value in carry(variables).items()]
    script = "".join(lines) + "env -0"
    ran = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True, env={})
    pairs = (line.decode().split("=", 1) for line in ran.stdout.split(b"\0") if line)
    there = unwrap({name: value for name, value in pairs if name not in ("PWD", "SHLVL", "_")})
    assert variables == there
