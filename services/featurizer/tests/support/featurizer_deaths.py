"""Ways in which a process ends for real, and containers that end the process that lists them."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from audioloom_featurizer.containers.formats import open_container as true_open_container
from audioloom_featurizer.inventory.sources import members
from audioloom_featurizer.inventory.sources.members import write_members as true_write_members
from audioloom_storage import Unavailable
from audioloom_storage import open_read as true_open_read


def write_members(unit: Any, history: Any, heartbeat: Any) -> Any:
    """List containers; one of a marked name ends the process at its first read."""
    members.open_container = open_container
    members.open_read = open_read
    return true_write_members(unit, history, heartbeat)


def open_read(location: Any) -> Any:
    file = true_open_read(location)
    if location.name.startswith("tired"):
        file.read = lambda *_: time.sleep(60)
    return file


def open_container(name: str, file: Any, size: int) -> Any:
    file.read(100)
    mark = name.split("-", maxsplit=1)[0]
    if mark == "outage":
        raise Unavailable(where="hdfs://a/b", found="connection lost")
    DEATHS.get(mark, lambda: None)()
    return true_open_container(name, file, size)


def _eat() -> None:
    held = b"x" * (600 << 20)
    while held:
        pass


def _loop() -> None:
    while True:
        time.sleep(1)  # the supervisor sees no heartbeat, and other tests may have the processor


DEATHS = {
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "loop": _loop,
    "eat": _eat,
}
