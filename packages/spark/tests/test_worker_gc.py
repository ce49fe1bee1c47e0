import gc
import sys
from types import ModuleType

import pytest
from audioloom_spark.units import freeze_modules


@pytest.fixture(autouse=True)
def _thawed() -> object:
    yield
    gc.unfreeze()


def test_modules_are_set_aside() -> None:
    """What is alive once modules were imported is not looked at by later collections."""
    sys.modules["audioloom_spark_one_more"] = ModuleType("one_more")
    try:
        freeze_modules()
    finally:
        del sys.modules["audioloom_spark_one_more"]
    assert gc.get_freeze_count() > 1000


def test_garbage_of_later_tasks_is_collected() -> None:
    """Without new modules nothing more is set aside, so that what a task leaves behind goes."""
    freeze_modules()
    before = gc.get_freeze_count()
    loop: list[object] = []
    loop.append(loop)
    freeze_modules()
    del loop
    assert before == gc.get_freeze_count()
    assert gc.collect() > 0
