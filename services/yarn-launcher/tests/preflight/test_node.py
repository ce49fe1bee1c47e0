from typing import Any

import pytest
from audioloom_yarn_launcher.preflight.node import Answer, check_node

GOOD = {
    "host": "node1",
    "clock": 110.0,
    "java": 'openjdk version "17.0.2"',
    "python": "3.11.7",
    "libc": "glibc 2.36",
    "free_mb": 100_000,
    "gpus": (),
    "tokens": 0,
    "file": "65536 bytes of hdfs://nn/x",
}


def states(asked: int = 0, kerberos: bool = False, **changed: Any) -> dict[str, str]:
    """What is found of a node that is well but for some things, checked between 100 and 120."""
    answer = Answer(**{**GOOD, **changed})  # type: ignore[arg-type]
    found = check_node(answer, began=100.0, ended=120.0, gpus=asked, kerberos=kerberos)
    return {each.check: each.state for each in found}


@pytest.mark.parametrize(
    ("changed", "check", "state"),
    [
        ({"java": "not found"}, "node's Java", "warning"),
        ({"unread": "no NameNode answered"}, "node reads", "failure"),
        ({"command_python": "GLIBC_2.38 not found"}, "environment", "failure"),
        ({"kerberos": True}, "node's tokens", "failure"),
        ({"free_mb": 4095}, "node's disk", "warning"),
        ({"noexec": True}, "node's temp dir", "failure"),
        ({"asked": 1}, "node's GPUs", "warning"),
        ({"asked": 1, "gpus": ("A100", "A100")}, "node's GPUs", "warning"),
        ({"clock": 39.0}, "node's clock", "warning"),
        ({"clock": 181.0}, "node's clock", "warning"),
    ],
)
def test_what_is_wrong_with_a_node_is_told(changed: dict[str, Any], check: str, state: str) -> None:
    """Each by its own line, and the others are well."""
    got = states(**changed)
    assert state == got.pop(check)
    assert {"ok"} == set(got.values())


def test_a_node_that_is_well_is_said_to_be() -> None:
    """With an environment, GPUs and tokens, and a clock that differs by less than a minute."""
    got = states(kerberos=True, tokens=300, command_python="Python 3.11.9", clock=61.0)
    assert {"ok"} == set(got.values())


def test_how_far_a_clock_is_off_is_told_at_least() -> None:
    """The container looked at its clock somewhere between the two times here."""
    answer = Answer(**{**GOOD, "clock": 3720.0})  # type: ignore[arg-type]
    found = check_node(answer, began=100.0, ended=120.0, gpus=0, kerberos=False)
    (clock,) = [each for each in found if each.check == "node's clock"]
    assert clock.text.startswith("node1 is at least 3600 s ahead")
