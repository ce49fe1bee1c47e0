"""Spark's daemon of Python workers, for executors on YARN: `spark.python.daemon.module`.

pyspark puts the folder of shipped files first on the path of each worker. On an executor that is
the working folder, from which no stage imports anything.
"""

import os

from pyspark import daemon, worker_util

_add_path = worker_util.add_path


def _add_other_path(path: str) -> bool:
    if os.path.realpath(path) == os.path.realpath(os.curdir):
        return False
    return bool(_add_path(path))


if __name__ == "__main__":
    worker_util.add_path = _add_other_path  # the workers are forks of this process
    daemon.manager()
