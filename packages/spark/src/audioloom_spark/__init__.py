"""The one place that makes a Spark session, and runs work units in it, for every Spark stage."""

from audioloom_spark.java import find_java
from audioloom_spark.session import spark_session
from audioloom_spark.units import run_units

__all__ = ["find_java", "run_units", "spark_session"]
