"""Garbage collection in Spark's Python workers, without the modules that a task has imported.

Spark collects all garbage after each task. Over what pyspark, NumPy and PyArrow import that is some
50 ms of processor time, which is more than a small unit takes.
"""

import gc
import sys

_known = 0


def freeze_modules() -> None:
    """Take what modules hold out of the collections to come, where any were imported since.

    Only then, as what is alive at this moment is not collected any more, also if it should be.
    """
    global _known  # noqa: PLW0603 - one worker, one process
    if len(sys.modules) == _known:
        return
    _known = len(sys.modules)
    gc.collect()
    gc.freeze()
