"""The process that decodes: it does units for its supervisor, one after another.

Started as `python -m audioloom_featurizer.sandbox.worker SOCKET PAGE`, both open file descriptors.
A decoder may take this process with it: that costs the recording that it died of, nothing else.
"""

from __future__ import annotations

import mmap
import os
import pickle
import resource
import select
import sys
import threading
import traceback
from multiprocessing.connection import Connection

from audioloom_featurizer.sandbox.heartbeat import Pulse

ANSWER, ERROR = b"a", b"e"


def main(socket: int, page: int) -> None:
    """Do units until the supervisor closes its end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one dump for each bad file fills a disk
    threading.Thread(target=_end_with, args=(socket,), daemon=True).start()
    pulse = Pulse(mmap.mmap(page, 0))
    with Connection(socket) as connection:
        while True:
            try:
                wanted = connection.recv_bytes()
            except EOFError:
                return
            connection.send_bytes(_do(wanted, pulse))


def _end_with(socket: int) -> None:
    """End at once when the supervisor does: nobody is left to take an answer, or to stop a loop."""
    poll = select.poll()
    poll.register(socket, 0)  # only that the other end was closed
    poll.poll()
    os._exit(1)


def _do(wanted: bytes, pulse: Pulse) -> bytes:
    try:
        task, unit, trial = pickle.loads(wanted)  # noqa: S301 - from the process that started us
        answer = pickle.loads(task)(pickle.loads(unit), trial, pulse)  # noqa: S301
        return ANSWER + pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - all of them are the supervisor's to raise
        pulse.at(None)
        return ERROR + _pickled(error)


def _pickled(error: Exception) -> bytes:
    """The error, or its text where it cannot travel."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301 - what we have just written
    except Exception:  # noqa: BLE001 - any failure means that it cannot
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
