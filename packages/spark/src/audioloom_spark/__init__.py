"""The one place that makes a Spark session, and runs work units in it, for every Spark stage."""

from audioloom_spark.java import find_java
from audioloom_spark.placing import Locality, block_hosts
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_spark.yarn import Yarn, yarn_of

__all__ = [
    "Locality",
    "SparkSettings",
    "Yarn",
    "block_hosts",
    "find_java",
    "run_units",
    "spark_session",
    "yarn_of",
]
