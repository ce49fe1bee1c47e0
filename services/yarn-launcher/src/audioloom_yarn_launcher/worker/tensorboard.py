"""The web page of TensorBoard: its events, and the address that others use.

TensorBoard reads folders of this machine. For a run folder on other storage, a thread copies new
events every few seconds. Storage that does not answer only delays the copy.
"""

import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from audioloom_stage.escapes import safe_text
from audioloom_storage import Entry, Location, NotFound, StorageError, open_read, walk

from audioloom_yarn_launcher.errors import StoreLost

EVENTS = "logs/tensorboard"
"""The trainer's event files, in the run folder."""
FOLLOW_EVERY_S, ASK_EVERY_S, ASK_WITHIN_S = 5.0, 0.5, 5.0
_IN_NAME = "tfevents"  # in the name of every file that TensorBoard reads


class TensorBoard:
    """The web page of one TensorBoard process; *show* publishes it and answers its address.

    The copy of the events lies *below* a folder, by default that for temporary files.
    """

    def __init__(
        self,
        run: Location,
        host: str,
        port: int,
        show: Callable[[str], str],
        below: Path | None = None,
    ) -> None:
        self._events, self._host, self._port, self._show = run / EVENTS, host, port, show
        self._over = threading.Event()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if run.scheme != "file":
            self._copy = tempfile.TemporaryDirectory(
                prefix="events-", dir=below, ignore_cleanup_errors=True
            )

    @property
    def folder(self) -> Path:
        """The folder that TensorBoard reads."""
        return Path(self._events.path if self._copy is None else self._copy.name)

    def fill_in(self, command: Sequence[str]) -> tuple[str, ...]:
        """Fill `{events}`, `{host}` and `{port}` in the command in."""
        known = {"{events}": str(self.folder), "{host}": self._host, "{port}": str(self._port)}
        return tuple(re.sub("|".join(known), lambda match: known[match[0]], w) for w in command)

    def begin(self, shown: Callable[[str], object]) -> None:
        """Follow the events; *shown* gets the page's published address as soon as it answers."""
        if self._copy is not None:
            threading.Thread(target=self._follow, name="events", daemon=True).start()
        threading.Thread(target=self._introduce, args=(shown,), name="page", daemon=True).start()

    def close(self) -> None:
        """Stop the thread that follows the events."""
        self._over.set()
        if self._copy is not None:
            self._copy.cleanup()

    def _follow(self) -> None:
        while not self._over.is_set():
            try:
                follow(self._events, self.folder)
            except (StorageError, OSError) as error:
                if not self._over.is_set():
                    sys.stderr.write(f"the events cannot be read now: {safe_text(error)}\n")
            self._over.wait(FOLLOW_EVERY_S)

    def _introduce(self, shown: Callable[[str], object]) -> None:
        while not answers(self._host, self._port):
            if self._over.wait(ASK_EVERY_S):
                return
        host = f"[{self._host}]" if ":" in self._host else self._host
        try:
            shown(self._show(f"http://{host}:{self._port}/"))
        except StoreLost as error:
            sys.stderr.write(f"the page cannot be shown: {safe_text(error)}\n")


def follow(events: Location, copy: Path) -> None:
    """Append new events to the copy; a later call goes on after a StorageError or OSError."""
    with suppress(NotFound):  # there are no events yet
        for entry in walk(events):
            if _IN_NAME in entry.location.name and not entry.is_folder:
                _add(entry, copy / entry.location.relative_to(events))


def _add(entry: Entry, copy: Path) -> None:
    # Event files only grow.
    copy.parent.mkdir(parents=True, exist_ok=True)
    with copy.open("ab") as to:
        position = to.tell()
        if position >= entry.size:
            return
        with open_read(entry.location) as source:
            source.seek(position)
            shutil.copyfileobj(source, to)


def answers(host: str, port: int) -> bool:
    """Return whether a server listens at an address."""
    try:
        socket.create_connection((host, port), ASK_WITHIN_S).close()
    except OSError:
        return False
    return True
