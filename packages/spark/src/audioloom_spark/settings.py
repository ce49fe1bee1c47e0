"""The settings that every Spark stage has, named as Spark's users expect."""

import os
import re
from typing import Any, ClassVar

from audioloom_stage.settings import Settings
from audioloom_stage.units import Size
from pydantic import Field, field_validator


class SparkSettings(Settings):
    """Where tasks run. Any master but `yarn` passes over all but `master` and `driver_memory`."""

    masters: ClassVar[str] = r"yarn|local(\[([1-9][0-9]{0,3}|\*)\])?"
    """Regular expression of the masters that a command has."""

    groups: ClassVar = {
        "Spark": "master driver_memory",
        "Cluster (--master yarn)": (
            "executors executor_cores executor_memory queue driver_address node_java environments"
        ),
    }

    master: str = Field(default="local[*]", description="Spark master: local[N], local[*] or yarn.")
    driver_memory: Size = Field(
        default=Size(1 << 30), ge=512 << 20, description="Memory of Java in Spark's driver."
    )
    executors: int = Field(default=2, ge=1, le=100_000, description="Number of executors.")
    executor_cores: int = Field(
        default=2, ge=1, le=1024, description="Cores of an executor, and its tasks at once."
    )
    executor_memory: Size = Field(
        default=Size(3 << 30),
        ge=1 << 30,
        description="Memory of an executor's container, Python included.",
    )
    queue: str | None = Field(default=None, description="YARN queue. Default: that of Spark.")
    driver_address: str | None = Field(
        default=None, description="Address of this machine for the nodes. Default: found by itself."
    )
    node_java: str | None = Field(
        default=None, pattern="^/", description="JAVA_HOME on the nodes. Default: that of YARN."
    )
    environments: str | None = Field(
        default=None,
        description="Folder for what the nodes fetch. Default: environments/ in the root.",
    )

    @field_validator("master")
    @classmethod
    def _is_a_master(cls, value: str) -> str:
        if re.fullmatch(cls.masters, value) is None:
            more = "inline, " if re.fullmatch(cls.masters, "inline") else ""
            raise ValueError(f"found {value!r}, expected {more}local[N], local[*] or yarn")
        return value

    @property
    def heap(self) -> int:
        """The bytes of an executor's Java heap."""
        return min(1 << 30, max(512 << 20, self.executor_memory // 4))

    @property
    def task_memory(self) -> int:
        """Bytes for the Python of one task on YARN, all its processes together."""
        return (self.executor_memory - self.heap) // self.executor_cores

    @property
    def slots(self) -> int:
        """The tasks that run at once, each on a core."""
        if self.master == "yarn":
            return self.executors * self.executor_cores
        given = self.master.partition("[")[2].rstrip("]")
        return (os.cpu_count() or 1) if given == "*" else int(given or 1)

    def check_configured(self) -> None:
        """Check that a cluster is configured, where the master is one: before all else.

        The same configuration says how HDFS is read: without it that fails first, and slowly.
        BadConfiguration if there is none.
        """
        if self.master == "yarn":
            from audioloom_spark.cluster import read_conf  # noqa: PLC0415 - these are declarations

            read_conf()

    def for_the_record(self) -> dict[str, Any]:
        """What a manifest's `execution` says of it: what had a meaning on this master."""
        known = (
            set(SparkSettings.model_fields)
            if self.master == "yarn"
            else {"master", "driver_memory"}
        )
        return self.model_dump(mode="json", include=known, exclude_none=True)
