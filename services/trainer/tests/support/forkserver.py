"""A process that has imported TensorFlow once, and forks a worker whenever a test asks for one.

Each worker is a process of its own that calls the real command line. Asked by a line of JSON on
stdin, answered by a line of JSON on stdout; `trainer_workers.py` is the other side.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer until stdin ends."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    for module in ("commands.evaluate", "commands.run", "training.fit"):
        import_module(f"audioloom_trainer.{module}")

    say({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            answer = {"pid": os.fork()}
            if answer["pid"] == 0:
                be_worker(order)
        say(answer)


def say(answer: dict[str, Any]) -> None:
    """Answer with a line."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def be_worker(order: dict[str, Any]) -> None:
    """Become the worker that was asked for; does not return."""
    code = 70
    try:
        for descriptor, name in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
            opened = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
            os.dup2(opened, descriptor)
        os.environ.update(order["environment"])
        prepare(order)
        from audioloom_trainer.cli import main as run

        code = run(order["words"])
    except BaseException as error:  # noqa: BLE001  (a fork must never return into the loop)
        sys.stderr.write(f"{error!r}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare(order: dict[str, Any]) -> None:
    """Faults and spies, before the command runs."""
    from audioloom_storage_testing import install_from_environment

    install_from_environment()
    write_progress(order)
    if order.get("devices", 1) > 1:
        use_devices(order["devices"])
    if order.get("kill_at_step"):
        die_at(order["kill_at_step"])
    if order.get("kill_all_at_step"):
        die_at(order["kill_all_at_step"], everybody=True)
    if order.get("told_at_step"):
        die_at(order["told_at_step"], signal.SIGTERM)
    if order.get("kill_in_storage"):
        die_in_storage(**order["kill_in_storage"])
    if order.get("storage_gone_at_step"):
        lose_storage_at(order["storage_gone_at_step"], order.get("storage_back_after"))
    if order.get("drift_at_step"):
        drift_at(order["drift_at_step"])
    if order.get("blind"):
        be_blind()
    if order.get("trace"):
        trace(Path(order["trace"]))


def write_progress(order: dict[str, Any]) -> None:
    """However long a busy disk takes: the tests count its lines, or the calls of the storage."""
    from audioloom_trainer.runs import progress

    if not order.get("storage_gone_at_step"):  # how long is waited then is what is tested
        progress.MOST_SECONDS = 60.0
    if order.get("timeless"):
        progress.EVERY_SECONDS = math.inf


def use_devices(count: int) -> None:
    """Make one replica for each of *count* logical processors, as several GPUs would be."""
    import tensorflow as tf
    from audioloom_trainer.training import fit

    def mirrored(_cluster: object) -> Any:
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        (processor,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(processor, parts)
        return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])

    fit.make_strategy = mirrored


def die_at(step: int, number: int = signal.SIGKILL, *, everybody: bool = False) -> None:
    """Send this process a signal as soon as it has done so many steps; its whole gang before it.

    Of two that kill themselves at the same step the later one may see the other's death first.
    """
    from audioloom_trainer.training.epochs import ProgressFile

    real = ProgressFile.step

    def watched(self: Any, **values: Any) -> None:
        real(self, **values)
        if values["step"] >= step:
            for pid in others() if everybody else ():
                os.kill(pid, number)
            os.kill(os.getpid(), number)

    ProgressFile.step = watched  # type: ignore[method-assign]


def die_in_storage(what: str, where: str, whom: str, time: int = 4) -> None:
    """Kill this process, the others or all when it is about to do something to such a file.

    Args:
        what: a step of `audioloom_storage_testing`, such as "create".
        where: how the file's name begins, also while it still has a temporary one.
        whom: "chief" (this process), "other" or "both".
        time: at the how manyth of these files; where old files are removed, at the first.
    """
    from audioloom_storage.backend.fault_points import Step, listen

    seen: set[str] = set()

    def hear(step: Any, location: Any) -> None:
        if step is not Step[what.upper()] or not location.name.lstrip(".").startswith(where):
            return
        seen.add(location.parent.name)
        if len(seen) >= (1 if step is Step.REMOVE else time):
            for pid in others() if whom != "chief" else ():
                os.kill(pid, signal.SIGKILL)
            if whom != "other":
                os.kill(os.getpid(), signal.SIGKILL)

    listen(hear)


def lose_storage_at(step: int, seconds: float | None) -> None:
    """Let all that changes storage fail for want of an answer after so many steps.

    Args:
        step: from which on.
        seconds: after which it answers again; None: never.
    """
    from audioloom_storage import Unavailable
    from audioloom_storage.backend.fault_points import listen
    from audioloom_trainer.training.epochs import ProgressFile

    real, gone_at = ProgressFile.step, math.inf

    def watched(self: Any, **values: Any) -> None:
        nonlocal gone_at
        if values["step"] >= step:
            gone_at = min(gone_at, time.monotonic())
        real(self, **values)

    def hear(_: Any, location: Any) -> None:
        if gone_at <= time.monotonic() < gone_at + (seconds or math.inf):
            raise Unavailable("no answer", where=location)

    ProgressFile.step = watched  # type: ignore[method-assign]
    listen(hear)


def drift_at(step: int) -> None:
    """Change a weight of this process alone, as broken memory would, after so many steps."""
    from audioloom_trainer.training.epochs import Session

    real = Session.check_not_zero

    def drifting(self: Any, outcome: Any) -> None:
        real(self, outcome)
        if not hasattr(self, "drifted") and self._global_step >= step:
            self.drifted = True
            weight = self._model.trainable_variables[0]
            weight.assign(weight + 1e-6)

    Session.check_not_zero = drifting  # type: ignore[method-assign]


def be_blind() -> None:
    """Fail if this process looks for a checkpoint or at the shards' folders."""
    from audioloom_trainer.commands import run

    def look(*_: object) -> None:
        raise AssertionError("a worker that is not the chief has asked storage")

    run.newest_checkpoint = run.check_files_exist = look  # type: ignore[assignment]


def others() -> list[int]:
    """The other workers that the same process has started."""
    parent = os.getppid()
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [pid for pid in map(int, children) if pid != os.getpid()]


def trace(file: Path) -> None:
    """Write down which records each batch of training holds: a line of digests a batch."""
    from audioloom_trainer.input.batches import Batch, BatchReader

    real = BatchReader.batches

    def traced(self: Any, start: int = 0) -> Iterator[Batch]:
        for number, batch in enumerate(real(self, start), start):
            rows = [
                hashlib.sha256(batch.features[row].tobytes()).hexdigest()[:16]
                for slot, counted in enumerate(batch.counts.tolist())
                for row in range(batch.bounds[slot], batch.bounds[slot] + counted)
            ]
            epoch = self.shuffle.epoch if self.shuffle else self.split.name
            with file.open("a") as sink:
                sink.write(json.dumps([epoch, number, rows]) + "\n")
            yield batch

    BatchReader.batches = traced  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
