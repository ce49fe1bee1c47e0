import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_yarn_launcher.commands import container_worker
from audioloom_yarn_launcher.commands.container_worker import (
    agent_context,
    command_variables,
    show_page,
    work_in_container,
)
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.messages import Plan
from audioloom_yarn_launcher.rendezvous.roles import of_workers
from audioloom_yarn_launcher.system.addresses import NoAddress
from audioloom_yarn_launcher.worker.agent import ALONE
from audioloom_yarn_launcher.worker.environment import marker
from audioloom_yarn_launcher.yarn.application_spec import NODE_PYTHON
from audioloom_yarn_launcher.yarn.skein_application import import_skein

PLAN = Plan(of_workers(2), ("train",), "/run", "launch")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{node}", "n1"),
        ("{hostname}-ib", f"{socket.gethostname()}-ib"),
        ("10.0.0.1", "10.0.0.1"),
        ("127.0.0.0/8", "127.0.0.1"),
    ],
)
def test_a_worker_is_reached_where_yarn_says_or_it_is_told(template: str, expected: str) -> None:
    """By the name that the cluster knows the node by, if nothing else is given."""
    found = agent_context(template, {"NM_HOST": "n1"})
    assert ("n1", expected) == (found.host, found.advertise)


def test_what_a_container_runs_is_marked_by_the_id_that_yarn_gave_it() -> None:
    """skein's begin anew with each application master: a guard would sweep another's processes."""
    marks = {
        marker(
            PLAN, agent_context("{node}", {"CONTAINER_ID": f"container_1_1_0{n}_2"}).container, 0
        )
        for n in (1, 2)
    }
    assert {f"launch/container_1_1_0{n}_2/0/" for n in (1, 2)} == marks


def test_the_command_finds_its_own_environment(tmp_path: Path) -> None:
    """First on the PATH; nothing that would lead its Python astray."""
    (tmp_path / "bin").mkdir()
    given = {"PATH": "/bin", "PYTHONPATH": "/x", "PYTHONHOME": "/y", "A": "b"}
    expected = {"PATH": f"{tmp_path}/bin:/bin", "VIRTUAL_ENV": str(tmp_path), "A": "b"}
    assert expected == command_variables(given, tmp_path)
    (tmp_path / "conda-meta").mkdir()
    assert str(tmp_path) == command_variables({}, tmp_path)["CONDA_PREFIX"]


def test_a_python_of_the_node_comes_first(tmp_path: Path) -> None:
    """What is beside it too; where it is not there no other is taken in its place."""
    python = tmp_path / "bin/python3"
    given = {"PATH": "/bin", NODE_PYTHON: str(python)}
    assert {"PATH": f"{tmp_path}/bin"} == command_variables(given, tmp_path / "none")
    python.parent.mkdir()
    python.touch(0o755)
    assert {"PATH": f"{tmp_path}/bin:/bin"} == command_variables(given, tmp_path / "none")
    (tmp_path / "pyvenv.cfg").touch()
    assert str(tmp_path) == command_variables(given, tmp_path / "none")["VIRTUAL_ENV"]


def test_without_an_environment_the_node_has_the_command(tmp_path: Path) -> None:
    """Its PATH stays."""
    assert {"PATH": "/bin"} == command_variables({"PATH": "/bin"}, tmp_path)


class Pages:
    """The pages of an application, of which one is there or not."""

    def __init__(self, error: Exception | None = None) -> None:
        self.ui, self._error = self, error
        self.there: dict[str, str] = {}

    def remove_page(self, route: str) -> None:
        if route not in self.there:
            raise ValueError(f"no page {route}")
        del self.there[route]

    def add_page(self, route: str, target: str) -> SimpleNamespace:
        if self._error is not None:
            raise self._error
        assert route not in self.there
        self.there[route] = target
        return SimpleNamespace(address=f"http://rm/pages/{route}/")


def test_a_page_is_put_in_the_place_of_the_one_before() -> None:
    """By whom it is served now, and in such a way that GET is enough."""
    pages = Pages()
    for target in ("http://n1:1/", "http://n2:2/"):
        shown = show_page(pages, "tensorboard", target)
        assert {"tensorboard": target} == pages.there
    assert "http://rm/pages/tensorboard/?tensorboardColab=true#scalars" == shown


def test_an_application_master_that_does_not_answer_shows_no_page() -> None:
    """Which is no end of the world, for who asks it next."""
    with pytest.raises(StoreLost, match="gone"):
        show_page(Pages(import_skein().exceptions.ConnectionError("gone")), "tensorboard", "x")


@pytest.mark.parametrize(("error", "code"), [(NoAddress, 78), (StoreLost, ALONE)])
def test_why_a_worker_cannot_work_is_told_without_secrets_and_controls(
    error: type[Exception],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the log of its container."""

    def fails() -> None:
        raise error("no access with --token hunter2 \x9b2J")

    properties = SimpleNamespace(container_id="worker_0")
    skein = SimpleNamespace(properties=properties)
    monkeypatch.setattr(container_worker, "import_skein", lambda: skein)
    monkeypatch.setattr(container_worker, "current_application", fails)
    assert code == work_in_container("{node}", None)
    assert capsys.readouterr().err.endswith("no access with --token ********** \\x9b2J\n")
