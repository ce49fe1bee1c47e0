"""The trainer, as the gangs of the fault suite run it: it notes who it is, and each step.

    python -m chained_training NOTES WORD …

The WORDs are those of `audioloom-trainer`, and what it does is what it does for everybody; but in
attempt 1 all take their time between steps from `HOLD` on, until there is a file `go`: so there is
time to hit them at their work.
"""

import sys
import time
from pathlib import Path

import chained_steps as chain

HOLD, KEEP_EVERY = 12, 3
SLOW_S = 1.0


def main() -> int:
    """Train, as one of the workers."""
    notes = chain.Notes(Path(sys.argv[1]))
    # Not the modules that hold NumPy: the command says first how many threads it may have.
    from audioloom_trainer.cli import main as trainer
    from audioloom_trainer.runs.progress import ProgressFile

    step_done = ProgressFile.step

    def noted(self: ProgressFile, **values: object) -> None:
        step_done(self, **values)
        notes.add(step=values["step"])
        if notes.attempt == 1 and values["step"] >= HOLD and not (notes.folder / "go").exists():
            (notes.folder / "holds").touch()
            time.sleep(SLOW_S)

    ProgressFile.step = noted
    return trainer(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
