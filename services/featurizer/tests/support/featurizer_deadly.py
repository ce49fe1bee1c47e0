"""A unit's task whose decoder dies of marked recordings, for real; the marks are in their names."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from audioloom_audio import MissingDecoder
from audioloom_audio import extract as true_extract
from audioloom_featurizer.containers.formats import open_container as true_open_container
from audioloom_featurizer.extraction import members as members_module
from audioloom_featurizer.extraction import recording as extract_module
from audioloom_featurizer.extraction import unit as unit_task
from audioloom_featurizer.inventory.sources import members as listing_module
from audioloom_featurizer.inventory.sources.members import write_members as true_write_members
from audioloom_manifest.receipts import Receipt
from audioloom_storage import Unavailable
from audioloom_storage import open_read as true_open_read

_spoiled: list[bool] = []
_LATE = ("audioloom_audio_native", "soundfile", "scipy.fft")


def extract_unit(job: Any, unit: Any, history: Any = None, heartbeat: Any = None) -> Receipt:
    extract_module.extract = extract
    members_module.open_read = open_read
    for module in _LATE:  # no recording is to blame for the time that they take
        importlib.import_module(module)
    return unit_task.extract_unit(job, unit, history, heartbeat)


def extract(source: Any, settings: Any, *, name: str) -> Any:
    if folder := os.environ.get("DEADLY_NOTES"):
        with Path(folder, str(os.getpid())).open("a") as notes:
            notes.write(f"{name}\n")
    source.read(100)
    kind = name.rsplit("-", 1)[-1].removesuffix(".wav")
    if kind == "victim" and _spoiled:
        kind = "segfault"
    _DEATHS.get(kind, lambda: None)()
    return true_extract(source, settings, name=name)


def open_read(location: Any) -> Any:
    file = true_open_read(location)
    if "tired" in location.name:
        file.read = lambda *_: time.sleep(60)
    return file


def write_members(unit: Any, history: Any, heartbeat: Any) -> Any:
    """List a container; one of a marked name ends the process at its first read."""
    listing_module.open_container = open_container
    return true_write_members(unit, history, heartbeat)


def open_container(name: str, file: Any, size: int) -> Any:
    file.read(100)
    _DEATHS.get(name.split("-", maxsplit=1)[0], lambda: None)()
    return true_open_container(name, file, size)


def _eat() -> None:
    held = b"x" * (600 << 20)
    while held:
        pass


def _loop() -> None:
    while True:
        time.sleep(1)  # the supervisor sees no heartbeat, and other tests may have the processor


def _answers_nothing() -> None:
    raise Unavailable(where="hdfs://a/b", found="connection lost")


def _misses() -> None:
    raise MissingDecoder("no such library")


def _fails() -> None:
    raise OSError(28, "No space left on device")


_DEATHS = {
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "loop": _loop,
    "eat": _eat,
    "exit": lambda: os._exit(3),
    "leave": lambda: sys.exit(4),
    "spoil": lambda: _spoiled.append(True),
    "missing": _misses,
    "full": _fails,
    "outage": _answers_nothing,
}


def ends_at_once(_unit: Any, _history: Any, _heartbeat: Any) -> None:
    os._exit(5)


def cannot_travel(_unit: Any, _history: Any, _heartbeat: Any) -> None:
    raise ValueError(lambda: None)


def quick(unit: Any, _history: Any, _heartbeat: Any) -> Any:
    return unit


def hangs(note: str, _history: Any, heartbeat: Any) -> None:
    Path(note).write_text(str(os.getpid()))
    heartbeat.start(0)
    _loop()


def noting_imports(job: Any, unit: Any, history: Any = None, heartbeat: Any = None) -> Receipt:
    receipt = unit_task.extract_unit(job, unit, history, heartbeat)
    modules = sys.modules | {}
    Path(os.environ["DEADLY_NOTES"], "imports").write_text("\n".join(modules))
    return receipt
