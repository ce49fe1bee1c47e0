import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_yarn_launcher.runs.process_identity import is_alive, this_process
from audioloom_yarn_launcher.yarn.resource_manager import Application, look_up
from launcher_processes import configure


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (404, {}, Application("GONE")),
        (401, {}, None),
        (200, ["what"], None),
        (
            200,
            {"app": {"state": "RUNNING", "diagnostics": "d"}},
            Application("RUNNING", "d"),
        ),
    ],
)
def test_an_answer_is_understood(
    answers: Callable[[int, object], None], code: int, body: object, expected: Application | None
) -> None:
    """What is unknown to the manager is gone; what it does not tell us is unknown to us."""
    answers(code, body)
    assert expected == look_up("application_1_1")


def test_without_a_cluster_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No configuration, or nobody there."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert look_up("application_1_1") is None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        configure(tmp_path, monkeypatch, f"127.0.0.1:{free.getsockname()[1]}")
        assert look_up("application_1_1") is None


@pytest.mark.parametrize(
    ("state", "alive"), [("ACCEPTED", True), ("RUNNING", True), ("KILLED", False)]
)
def test_the_owner_of_an_application_lives_as_long_as_it(
    answers: Callable[[int, object], None], state: str, alive: bool
) -> None:
    """Whatever process of whatever machine it was: a master that is lost has a successor."""
    answers(200, {"app": {"state": state}})
    owner = this_process().model_copy(update={"application": "application_1_1"})
    assert alive is is_alive(owner)
    assert str(owner).startswith("application_1_1 on ")


def test_of_one_application_only_the_attempt_that_asks_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is one application master at a time, and this is it."""
    monkeypatch.setenv("SKEIN_APPLICATION_ID", "application_1_1")
    monkeypatch.setenv("CONTAINER_ID", "container_e17_1_0001_02_000001")
    owner = this_process()
    assert ("application_1_1", 2) == (owner.application, owner.application_attempt)
    assert is_alive(owner)
    assert is_alive(owner.model_copy(update={"application_attempt": 1})) is False
