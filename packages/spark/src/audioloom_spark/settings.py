"""The settings that every Spark stage has, named as Spark's users expect."""

from __future__ import annotations

from typing import Any

from audioloom_stage.settings import Settings
from audioloom_stage.units import Size
from pydantic import Field

_ON_YARN = " Only with --master yarn."


class SparkSettings(Settings):
    """Where tasks run. On any master but `yarn` all but `master` are passed over."""

    master: str = Field("local[*]", description="The Spark master: local[N], local[*], yarn.")
    executors: int = Field(2, ge=1, le=100_000, description="How many executors." + _ON_YARN)
    executor_cores: int = Field(
        2, ge=1, le=1024, description="Cores of an executor: so many tasks at once." + _ON_YARN
    )
    executor_memory: Size = Field(
        Size(3 << 30),
        ge=1 << 30,
        description="Memory of an executor's container, Java and all Python workers together."
        + _ON_YARN,
    )
    queue: str | None = Field(None, description="The queue. Default: Spark's." + _ON_YARN)
    driver_address: str | None = Field(
        None,
        description="Address of this machine for the nodes. Default: the one that the"
        " ResourceManager is reached from." + _ON_YARN,
    )
    node_java: str | None = Field(
        None,
        pattern="^/",
        description="JAVA_HOME on the nodes. Default: the one that YARN runs on." + _ON_YARN,
    )
    environments: str | None = Field(
        None,
        description="Folder for what is shipped to the nodes. Default: environments/ below the"
        " root." + _ON_YARN,
    )

    def check_configured(self) -> None:
        """See that a cluster is configured, where the master is one; to be called before all else.

        The same configuration says how HDFS is read: without it that fails first, and slowly.

        Raises:
            NoCluster: HADOOP_CONF_DIR leads to none.
        """
        if self.master == "yarn":
            from audioloom_spark.cluster import read_conf  # noqa: PLC0415 - these are declarations

            read_conf()

    def for_the_record(self) -> dict[str, Any]:
        """What a manifest's `execution` says of it: what had a meaning on this master."""
        known = set(SparkSettings.model_fields) if self.master == "yarn" else {"master"}
        return self.model_dump(mode="json", include=known, exclude_none=True)
