"""Keep imported modules out of the garbage collection of Spark's Python workers.

Spark collects all garbage after each task. Over what pyspark, NumPy and PyArrow import that is some
50 ms of processor time, which is more than a small unit takes.
"""

import gc
import sys

_known = 0


def freeze_modules() -> None:
    """Exclude modules from later collections, if any were imported since the last call.

    Not more often, because an object that is alive at this moment is never collected any more.
    """
    global _known  # noqa: PLW0603 - one worker, one process
    if len(sys.modules) == _known:
        return
    _known = len(sys.modules)
    gc.collect()
    gc.freeze()
