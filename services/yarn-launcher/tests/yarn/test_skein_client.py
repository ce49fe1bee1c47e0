"""What is asked of a cluster when skein's driver is killed or frozen; it is a process like any."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from audioloom_yarn_launcher.errors import ApplicationLost, ResourceManagerDown
from audioloom_yarn_launcher.rendezvous.messages import STOP_KEY, Stop
from audioloom_yarn_launcher.yarn import skein_client
from audioloom_yarn_launcher.yarn.skein_client import Cluster


class SkeinError(Exception):
    pass


class Unreachable(SkeinError, ConnectionError):
    pass


class TookTooLong(SkeinError, TimeoutError):
    pass


SKEIN = SimpleNamespace(
    exceptions=SimpleNamespace(
        SkeinError=SkeinError, ConnectionError=Unreachable, TimeoutError=TookTooLong
    ),
    ApplicationSpec=SimpleNamespace(from_dict=dict),
)


class Client:
    """A client whose driver answers as long as it lives, and not while it is stopped."""

    def __init__(self) -> None:
        self._proc = subprocess.Popen(
            ["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.submitted = 0

    def application_report(self, application: str) -> Any:
        assert self._proc.stdin is not None
        assert self._proc.stdout is not None
        try:
            self._proc.stdin.write(b"x")
        except BrokenPipeError:
            raise Unreachable("no driver") from None
        if not self._proc.stdout.read(1):
            raise Unreachable("no driver")
        return SimpleNamespace(state="RUNNING", diagnostics="", tracking_url=application)

    def submit(self, _: object) -> str:
        self.submitted += 1
        self._proc.kill()
        raise Unreachable("no driver")

    def connect(self, *_: object, **__: object) -> Any:
        raise Unreachable("no master")

    def close(self) -> None:
        assert self._proc.stdin is not None
        self._proc.stdin.close()
        self._proc.wait()


@pytest.fixture
def clients() -> list[Client]:
    return []


@pytest.fixture
def cluster(clients: list[Client], tmp_path: Path) -> Iterator[Cluster]:
    def start() -> Client:
        clients.append(Client())
        return clients[-1]

    cluster = Cluster(start, SKEIN, tmp_path / "driver.log")
    yield cluster
    cluster.close()
    assert not [each for each in clients if each._proc.poll() is None]
    for each in clients:
        assert each._proc.stdout is not None
        each._proc.stdout.close()


def report(cluster: Cluster) -> str:
    return cluster.report("application_1_1").state


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_another_driver_is_started_when_one_is_killed_or_frozen(
    cluster: Cluster, clients: list[Client], how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application needs none; who asks gets the answer."""
    monkeypatch.setattr(skein_client, "ANSWER_WITHIN_S", 1.0)
    assert "RUNNING" == report(cluster)
    os.kill(clients[0]._proc.pid, how)
    assert ["RUNNING"] * 2 == [report(cluster), report(cluster)]
    assert 2 == len(clients)


def test_nothing_is_submitted_twice(cluster: Cluster, clients: list[Client]) -> None:
    """It may have been taken before the driver ended."""
    with pytest.raises(ApplicationLost):
        cluster.submit({})
    assert [1] == [each.submitted for each in clients]
    assert "RUNNING" == report(cluster)


def test_a_master_that_does_not_answer_is_not_the_driver_s_fault(
    cluster: Cluster, clients: list[Client]
) -> None:
    """It is told as what it is."""
    with pytest.raises(ApplicationLost):
        cluster.stop("application_1_1", SimpleNamespace(model_dump_json=str))  # type: ignore[arg-type]
    assert 1 == len(clients)


def test_each_request_to_end_a_run_is_one_more(
    cluster: Cluster, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes it: the second one gives the processes no time."""
    master = SimpleNamespace(kv={})
    monkeypatch.setattr(clients[0], "connect", lambda *_, **__: nullcontext(master))
    for times in (1, 2):
        cluster.stop("application_1_1", Stop(signal=15))
        assert Stop(15, times) == Stop(**json.loads(master.kv[STOP_KEY]))
    cluster.stop("application_1_1", Stop(signal=2, times=2))
    assert Stop(2, 4) == Stop(**json.loads(master.kv[STOP_KEY]))


def test_that_skein_has_waited_enough_is_an_answer(
    cluster: Cluster, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody else would ever give up: its error is a time-out by Python's name, too."""

    def wait(_: object) -> str:
        raise TookTooLong

    monkeypatch.setattr(clients[0], "submit", wait)
    with pytest.raises(ApplicationLost):
        cluster.submit({})


def test_a_driver_that_does_not_start_again_is_tried_again(
    cluster: Cluster, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for the application goes on waiting."""

    def fail(_: Client) -> None:
        raise SkeinError("no memory")

    os.kill(clients[0]._proc.pid, signal.SIGKILL)
    with monkeypatch.context() as patch:
        patch.setattr(Client, "__init__", fail)
        for _ in range(2):
            with pytest.raises(ResourceManagerDown, match="does not start again"):
                cluster.report("application_1_1")
    assert "RUNNING" == report(cluster)
