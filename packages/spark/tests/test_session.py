"""A session on this machine: who may speak to it, the units it runs, what it leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from audioloom_spark.session import _end_gateway, spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_stage.errors import BadConfiguration, TryAgain
from audioloom_stage.units import Size
from pyspark import SparkContext
from pyspark.sql import SparkSession
from structlog.testing import capture_logs

# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

RPC_REQUEST = 3
DRIVER = 640 << 20


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    settings = SparkSettings(master="local[2]", driver_memory=Size(DRIVER))
    with spark_session("test", settings) as session:
        yield session


def test_java_has_the_memory_that_was_asked_for(session: SparkSession) -> None:
    """A listing of very many files may need more than the usual gigabyte."""
    java = session.sparkContext._jvm.java.lang.Runtime.getRuntime()
    assert 0.9 * DRIVER < java.maxMemory() <= DRIVER


def test_a_stranger_s_objects_are_not_deserialized(session: SparkSession) -> None:
    """Each user of the machine reaches the driver's port: it asks for the secret first."""
    body = bytes(64)
    message = struct.pack(">bqi", RPC_REQUEST, 7, len(body)) + body
    port = int(session.sparkContext.getConf().get("spark.driver.port"))
    with socket.create_connection(("127.0.0.1", port), timeout=60) as stranger:
        stranger.sendall(struct.pack(">q", len(message) + 8) + message)
        answer = stranger.recv(1 << 16)
    assert b"Expected SaslMessage" in answer
    assert b"ObjectInputStream" not in answer


def test_error_of_a_unit_arrives_as_itself(session: SparkSession) -> None:
    """What a unit raises is raised by the iterator, with its type and arguments."""

    def fail(unit: int) -> int:
        if unit == 2:
            raise FileNotFoundError(2, "gone", "a.wav")
        return unit

    with pytest.raises(FileNotFoundError) as caught:
        list(run_units(session, [1, 2, 3], fail))
    assert "a.wav" == caught.value.filename


def test_a_unit_that_fails_does_not_end_the_others(session: SparkSession) -> None:
    """Their answers come first; the error then names the one that was first to fail."""

    def fail(unit: int) -> int:
        if unit in {3, 7}:
            raise ValueError(unit)
        return unit

    answers: list[int] = []
    with capture_logs() as logs, pytest.raises(ValueError, match=r"[37]"):
        answers.extend(run_units(session, list(range(12)), fail))
    assert sorted({*range(12)} - {3, 7}) == sorted(answers)
    assert ["a unit failed; the others go on"] * 2 == [each["event"] for each in logs]


@pytest.mark.parametrize("error", [BadConfiguration("no librosa"), OSError("no room")])
def test_what_fails_every_unit_ends_soon(
    session: SparkSession, tmp_path: Path, error: Exception
) -> None:
    """A library that is missing at once, a full disk after some units."""

    def fail(unit: int) -> int:
        (tmp_path / str(unit)).touch()
        time.sleep(0.05)
        raise error

    with pytest.raises(type(error)):
        list(run_units(session, list(range(200)), fail))
    assert len(list(tmp_path.iterdir())) < 200


def test_a_killed_worker_is_worth_another_try(session: SparkSession) -> None:
    """Spark's own failure comes as TryAgain, with its reason in a sentence."""

    def die(unit: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return unit

    with pytest.raises(TryAgain) as caught:
        list(run_units(session, [1], die))
    assert caught.value.found.startswith("Python worker exited unexpectedly")
    assert "\n" not in str(caught.value)


def test_session_serves_after_an_error(session: SparkSession) -> None:
    """A failed job leaves the session usable."""
    assert [1] == list(run_units(session, [1], lambda unit: unit))


def test_closing_early_cancels_the_rest(session: SparkSession, tmp_path: Path) -> None:
    """Units that have not started when the iterator is closed never run."""

    def mark(unit: int) -> int:
        (tmp_path / str(unit)).touch()
        time.sleep(0.05)
        return unit

    answers = run_units(session, list(range(200)), mark)
    next(answers)
    answers.close()
    assert len(list(tmp_path.iterdir())) < 200


def test_every_unit_answers_once(session: SparkSession) -> None:
    """Each unit answers exactly once, from workers that run this interpreter."""
    answers = list(run_units(session, list(range(20)), lambda unit: (unit, sys.executable)))
    assert [(unit, sys.executable) for unit in range(20)] == sorted(answers)


def test_answers_have_no_limit_together(session: SparkSession) -> None:
    """Spark counts what comes in accumulators too."""
    assert "0" == session.sparkContext.getConf().get("spark.driver.maxResultSize")


def test_no_units_need_no_job(session: SparkSession) -> None:
    """No unit, no answer."""
    assert [] == list(run_units(session, [], lambda unit: unit))


@pytest.mark.slow
def test_java_that_is_killed_is_worth_another_try() -> None:
    """Its session ends all the same, and the next one has a Java of its own."""
    program = (
        "import os\n"
        "from audioloom_spark.session import spark_session\n"
        "from audioloom_spark.settings import SparkSettings\n"
        "from audioloom_spark.units import run_units\n"
        "from audioloom_stage.errors import TryAgain\n"
        "settings = SparkSettings(master='local[1]')\n"
        "try:\n"
        "    with spark_session('t', settings) as s:\n"
        "        java = s.sparkContext._gateway.proc.pid\n"
        "        list(run_units(s, [java], lambda u: os.kill(u, 9)))\n"
        "except TryAgain as error:\n"
        "    print(error)\n"
        "with spark_session('t', settings) as s:\n"
        "    print(*run_units(s, [1], lambda u: u))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    told, answer = done.stdout.splitlines()
    assert ("Spark gave up", "1") == (told.split(":")[0], answer)


def test_nothing_stays_behind(tmp_path: Path) -> None:
    """After a session its JVM, its workers and its scratch folder are gone.

    Nor does Spark say a word, while errors of the JVM arrive.
    """
    program = (
        "from audioloom_spark.session import spark_session\n"
        "from audioloom_spark.settings import SparkSettings\n"
        "from audioloom_spark.units import run_units\n"
        "import psutil\n"
        "for _ in range(2):\n"
        "    with spark_session('t', SparkSettings(master='local[1]')) as s:\n"
        "        list(run_units(s, [1], lambda u: u))\n"
        "        s._jvm.java.lang.System.err.println('an error')\n"
        "    assert not psutil.Process().children(recursive=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "", "an error\n" * 2) == (done.returncode, done.stdout, done.stderr)
    assert [] == [path for path in tmp_path.iterdir() if path.name.startswith("audioloom")]


def test_java_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is done: a slow end is no failure, and the next session has a JVM of its own."""
    monkeypatch.setattr("audioloom_spark.session._END_SECONDS", 0.01)
    for name in ("_gateway", "_jvm", "_active_spark_context"):
        monkeypatch.setattr(SparkContext, name, object())
    with subprocess.Popen(["/bin/sh", "-c", "exec sleep 600"]) as process:
        _end_gateway(Mock(proc=process))
        assert -signal.SIGKILL == process.returncode
    assert (None, None) == (SparkContext._gateway, SparkContext._jvm)
    assert SparkContext._active_spark_context is None
