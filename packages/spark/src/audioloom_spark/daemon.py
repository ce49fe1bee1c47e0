"""Spark's daemon of Python workers, for executors on YARN: `spark.python.daemon.module`.

pyspark puts the folder of shipped files first on the path of each worker. On an executor that is
the working folder, from which no stage imports anything.
"""

import os
import sys
from typing import Any

from pyspark import daemon, worker_util

# Spark 3.5 has the function in `worker`, which its daemon has imported. Spark 4 has it in
# `worker_util`, and imports `worker` only in the forks.
_owner: Any = worker_util if hasattr(worker_util, "add_path") else sys.modules["pyspark.worker"]
_add_path = _owner.add_path


def _add_other_path(path: str) -> bool:
    if os.path.realpath(path) == os.path.realpath(os.curdir):
        return False
    return bool(_add_path(path))


if __name__ == "__main__":
    _owner.add_path = _add_other_path  # the workers are forks of this process
    daemon.manager()
