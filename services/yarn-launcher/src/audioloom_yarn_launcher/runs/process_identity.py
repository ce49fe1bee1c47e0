"""The identity of a process in a record, which tells whether the process still lives.

No clock and no time-out is involved. Two records mean one process if machine, boot, process
namespace, process id and start time are equal, and only that kernel is asked. For a process in an
application master the ResourceManager is asked.
"""

import os
import re
import socket
from pathlib import Path

from pydantic import BaseModel

from audioloom_yarn_launcher.system.files import text_of
from audioloom_yarn_launcher.system.processes import stat_fields
from audioloom_yarn_launcher.yarn.resource_manager import look_up

_PROC = Path("/proc")
_START_TIME = 19  # field 22 of /proc/<pid>/stat, counted after the name
_DEAD = ("Z", "X", "x")
_CONTAINER = re.compile(r"container_(?:e[0-9]+_)?[0-9]+_[0-9]+_([0-9]+)_[0-9]+")


class ProcessIdentity(BaseModel, frozen=True):
    """A process, described so that no other process can be taken for it.

    The application is that which it coordinates on YARN, in the attempt of that number, from 1.
    """

    host: str
    pid: int
    boot: str
    namespace: int
    start_ticks: int
    application: str | None = None
    application_attempt: int | None = None

    def __str__(self) -> str:
        if self.application is not None:
            return f"{self.application} on {self.host}"
        return f"process {self.pid} on {self.host}"


def this_process() -> ProcessIdentity:
    """Return the identity of the calling process."""
    application, attempt = _application()
    return ProcessIdentity(
        host=os.environ.get("NM_HOST") or socket.gethostname(),
        pid=os.getpid(),
        boot=_boot(),
        namespace=_namespace(),
        start_ticks=ticks_at_start(os.getpid()) or 0,
        application=application,
        application_attempt=attempt,
    )


def is_alive(owner: ProcessIdentity) -> bool | None:
    """Return whether the process lives; None if unknown from here."""
    if owner.application is None:
        if owner.boot != _boot() or owner.namespace != _namespace() or not owner.boot:
            return None
        return ticks_at_start(owner.pid) == owner.start_ticks
    application, attempt = _application()
    if application == owner.application:  # there is one application master at a time
        return owner.application_attempt == attempt
    # Elsewhere it lives as long as its application: a lost master is replaced by the next one.
    found = look_up(owner.application)
    return None if found is None else not found.ended


def _application() -> tuple[str | None, int | None]:
    """Return the application and attempt that this process coordinates."""
    match = _CONTAINER.fullmatch(os.environ.get("CONTAINER_ID", ""))
    if match is None or "SKEIN_APPLICATION_ID" not in os.environ:
        return None, None
    return os.environ["SKEIN_APPLICATION_ID"], int(match[1])


def _boot() -> str:
    return text_of(_PROC / "sys/kernel/random/boot_id").strip()


def _namespace() -> int:
    try:
        return (_PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return 0


def ticks_at_start(pid: int) -> int | None:
    """Ticks from boot to the start of a process that lives: proc(5), starttime."""
    fields = stat_fields(pid)
    return None if not fields or fields[0] in _DEAD else int(fields[_START_TIME])
