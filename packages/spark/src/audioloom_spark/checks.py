"""The checks of `doctor` for Spark: Java, pyspark, and the cluster that the settings name."""

from functools import partial
from importlib.metadata import version

from audioloom_stage.checks import Ask, CheckResult, ok

from audioloom_spark.cluster import check_cluster
from audioloom_spark.java import find_java, java_version
from audioloom_spark.settings import SparkSettings


def spark_checks(settings: SparkSettings) -> dict[str, Ask]:
    """Return the checks by name; those of a cluster only for `--master yarn`."""
    checks: dict[str, Ask] = {"Java": _java, "pyspark": _pyspark}
    if settings.master == "yarn":
        checks["cluster"] = partial(_cluster, settings)
    return checks


def _java() -> CheckResult:
    java = find_java()
    return ok("Java", f"Java {java_version(java)} at {java}")


def _pyspark() -> CheckResult:
    import pyspark  # noqa: F401, PLC0415 - a second of import

    return ok("pyspark", version("pyspark"))


def _cluster(settings: SparkSettings) -> CheckResult:
    check_cluster(
        memory=settings.executor_memory, cores=settings.executor_cores, queue=settings.queue
    )
    return ok("cluster", "ResourceManager and NameNode answer, and a node fits an executor")
