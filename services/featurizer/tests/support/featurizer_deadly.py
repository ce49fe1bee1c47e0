"""A unit's task whose decoder dies of marked recordings, for real; the marks are in their names."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from audioloom_audio import MissingDecoder
from audioloom_audio import extract as true_extract
from audioloom_featurizer.extraction import members as members_module
from audioloom_featurizer.extraction import recording as extract_module
from audioloom_featurizer.extraction import unit as unit_task
from audioloom_manifest.receipts import Receipt
from audioloom_storage import open_read as true_open_read
from featurizer_deaths import DEATHS

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


def _misses() -> None:
    raise MissingDecoder("no such library")


def _fails() -> None:
    raise OSError(28, "No space left on device")


_DEATHS = {
    **DEATHS,
    "exit": lambda: os._exit(3),
    "leave": lambda: sys.exit(4),
    "spoil": lambda: _spoiled.append(True),
    "missing": _misses,
    "full": _fails,
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
    DEATHS["loop"]()


def noting_imports(job: Any, unit: Any, history: Any = None, heartbeat: Any = None) -> Receipt:
    receipt = unit_task.extract_unit(job, unit, history, heartbeat)
    modules = sys.modules | {}
    Path(os.environ["DEADLY_NOTES"], "imports").write_text("\n".join(modules))
    return receipt
