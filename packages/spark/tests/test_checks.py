import pytest
from audioloom_spark.checks import spark_checks
from audioloom_spark.settings import SparkSettings
from audioloom_stage.checks import look


def test_java_and_pyspark_are_there() -> None:
    """Without a cluster nothing else is asked."""
    found = look(spark_checks(SparkSettings()))
    assert [("Java", "ok"), ("pyspark", "ok")] == [(each.check, each.state) for each in found]


def test_a_machine_without_java_and_cluster_is_told_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither check hides the other."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    found = look(spark_checks(SparkSettings(master="yarn")))
    assert [("Java", "failure"), ("pyspark", "ok"), ("cluster", "failure")] == [
        (each.check, each.state) for each in found
    ]
