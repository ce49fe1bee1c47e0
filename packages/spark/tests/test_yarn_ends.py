"""What ends a Spark application on a real YARN is told in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_stage.errors import TryAgain
from audioloom_storage import Location

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
]


def test_a_container_over_its_memory_is_told(yarn: SparkSettings, shipped: Location) -> None:
    """With what was used and allowed, and the flag that helps."""
    more = (int(yarn.executor_memory) >> 28) + 1

    def devour(_: int) -> int:
        import time

        held = [bytearray(b"x") * (1 << 28) for _ in range(more)]
        time.sleep(60)
        return len(held)

    once = {"spark.task.maxFailures": "1"}
    with (
        spark_session("test", yarn, conf=once) as session,
        pytest.raises(TryAgain, match="exceeding physical memory limits") as caught,
    ):
        list(run_units(session, [0], devour))
    assert "--executor-memory" in str(caught.value)


def test_a_killed_application_ends_the_work(
    yarn: SparkSettings, shipped: Location, tmp_path: Path
) -> None:
    """The units that wait for it do not wait for ever, and the reason is told."""

    def forever(_: int) -> None:
        import time

        (tmp_path / "begun").touch()
        while True:
            time.sleep(1)

    with spark_session("test", yarn) as session:
        _Killer(session.sparkContext, tmp_path / "begun").start()
        with pytest.raises(TryAgain, match="killed"):
            list(run_units(session, [0], forever))


class _Killer:
    """Kills an application once a file is there."""

    def __init__(self, context: object, begun: Path) -> None:
        import threading

        self._context, self._begun = context, begun
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        import time

        while not self._begun.exists():
            time.sleep(0.1)
        jvm = self._context._jvm
        hadoop = jvm.org.apache.hadoop
        client = hadoop.yarn.client.api.YarnClient.createYarnClient()
        client.init(self._context._jsc.hadoopConfiguration())
        client.start()
        client.killApplication(
            hadoop.yarn.api.records.ApplicationId.fromString(self._context.applicationId)
        )
        client.stop()
