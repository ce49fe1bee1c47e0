from __future__ import annotations

from typing import Any, cast

from audioloom_spark.locality import MOST_PLACED, block_hosts
from audioloom_storage import locate


def test_very_many_units_are_not_placed() -> None:
    """Asking for the blocks of each would take minutes before the first one starts."""
    nobody = cast("Any", None)  # a session that is asked nothing
    units = [[locate("hdfs://namenode/a.wav")]] * (MOST_PLACED + 1)
    assert [()] * len(units) == block_hosts(nobody, units)
