"""The settings that every Spark stage has."""

import pytest
from audioloom_spark.settings import SparkSettings
from pydantic import ValidationError


@pytest.mark.parametrize(
    "master", ["inline", "spark://host:7077", "local[0]", "local[2", "Yarn", "yarn\n", ""]
)
def test_a_master_that_no_stage_has_is_refused(master: str) -> None:
    """Before Spark starts, which would call it a bug."""
    with pytest.raises(ValidationError, match="master"):
        SparkSettings(master=master)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "yarn"])
def test_masters(master: str) -> None:
    """One process, its cores, or a cluster."""
    assert SparkSettings(master=master).master == master
