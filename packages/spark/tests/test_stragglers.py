"""A unit that one node does not finish is done by another one."""

from __future__ import annotations

import pytest
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_storage import Location

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning"),
]

UNITS = 20


def test_a_unit_that_hangs_is_begun_elsewhere(yarn: SparkSettings, shipped: Location) -> None:
    """Its second attempt answers, once, and the first one is ended."""

    def work(unit: int) -> tuple[int, int]:
        import time

        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        time.sleep(3600 if unit == 0 and attempt == 0 else 0.2)
        return unit, attempt

    soon = {"spark.speculation.minTaskRuntime": "1s", "spark.speculation.interval": "500ms"}
    with spark_session("test", yarn, conf=soon) as session:
        done = sorted(run_units(session, range(UNITS), work))
    assert [(0, 1), *((unit, 0) for unit in range(1, UNITS))] == done
