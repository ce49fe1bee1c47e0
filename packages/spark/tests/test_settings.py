"""The settings that every Spark stage has."""

import pytest
from audioloom_spark.settings import SparkSettings
from pydantic import ValidationError


@pytest.mark.parametrize(
    "master", ["inline", "spark://host:7077", "local[0]", "local[2", "Yarn", "yarn\n", ""]
)
def test_a_master_that_no_stage_has_is_refused(master: str) -> None:
    """Before Spark starts, which would call it a bug; the masters that there are stand beside."""
    with pytest.raises(ValidationError, match=r"expected local\[N\], local\[\*\] or yarn"):
        SparkSettings(master=master)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "yarn"])
def test_masters(master: str) -> None:
    """One process, its cores, or a cluster."""
    assert SparkSettings(master=master).master == master


@pytest.mark.parametrize(
    ("master", "slots"), [("local", 1), ("local[3]", 3), ("local[*]", 5), ("yarn", 12)]
)
def test_slots_are_the_tasks_at_once(
    monkeypatch: pytest.MonkeyPatch, master: str, slots: int
) -> None:
    """On a cluster those of all executors."""
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert slots == SparkSettings(master=master, executors=4, executor_cores=3).slots
