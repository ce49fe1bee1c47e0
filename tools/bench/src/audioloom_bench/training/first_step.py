"""`python -m audioloom_bench.training.first_step LANE MANIFEST ROOT`: one step, and what it cost.

Prints the processor seconds of the process so far as soon as the step is done.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from audioloom_bench.measure import FLOOR


def main() -> None:
    """Do it, and wait to be ended."""
    lane, manifest, root = sys.argv[1:]
    if lane == FLOOR:
        bare()
        say(1)
        return
    run(manifest, root)


def bare() -> None:
    """One step of the light network, by Keras itself, on zeros."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import tensorflow  # noqa: F401, ICN001, PLC0415 - what is measured
    from audioloom_trainer.networks import conv1d  # noqa: PLC0415

    conv1d((40, 313), 8).train_on_batch(*zeros())


def zeros() -> tuple[Any, Any]:
    """A batch."""
    import numpy as np  # noqa: PLC0415

    return np.zeros((64, 40, 313), np.float32), np.zeros(64, np.int32)


def run(manifest: str, root: str) -> None:
    """The command, which tells of each step by its progress."""
    answers = os.dup(1)  # the command keeps its own stdout for its result
    from audioloom_trainer.cli import main as trainer  # noqa: PLC0415
    from audioloom_trainer.runs import progress  # noqa: PLC0415  imports no TensorFlow

    def step(_: Any, **values: Any) -> None:
        if values["step"] == 1:
            say(answers)

    progress.ProgressFile.step = step  # type: ignore[method-assign, assignment]
    sys.exit(trainer(["run", manifest, "--root", root, "--epochs", "1"]))


def say(descriptor: int) -> None:
    """Processor seconds since the process began."""
    os.write(descriptor, f"{time.process_time()}\n".encode())


if __name__ == "__main__":
    main()
