"""The worker process decodes: it processes units for its supervisor, one after another.

Started as `python -m audioloom_featurizer.sandbox.worker SOCKET PAGE`, both open file descriptors.
If a decoder kills this process, the supervisor loses one recording.
"""

import mmap
import os
import pickle
import resource
import select
import sys
import threading
import traceback
from multiprocessing.connection import Connection

from audioloom_featurizer.sandbox.messages import Heartbeat

ANSWER, ERROR = b"a", b"e"


def main(socket: int, page: int) -> None:
    """Process units until the supervisor closes its end of the socket."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # core dumps of bad files would fill the disk
    threading.Thread(target=_exit_with_supervisor, args=(socket,), daemon=True).start()
    heartbeat = Heartbeat(mmap.mmap(page, 0))
    with Connection(socket) as connection:
        while True:
            try:
                request = connection.recv_bytes()
            except EOFError:
                return
            connection.send_bytes(_do(request, heartbeat))


def _exit_with_supervisor(socket: int) -> None:
    """Exit when the supervisor ends: nobody else would stop a decoder in an endless loop."""
    poll = select.poll()
    poll.register(socket, 0)  # reports only that the other end was closed
    poll.poll()
    os._exit(1)


def _do(request: bytes, heartbeat: Heartbeat) -> bytes:
    try:
        task, unit, history = pickle.loads(request)  # noqa: S301 - from the process that started us
        answer = pickle.loads(task)(pickle.loads(unit), history, heartbeat)  # noqa: S301
        return ANSWER + pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - all of them are the supervisor's to raise
        heartbeat.finish()
        return ERROR + _pickled(error)


def _pickled(error: Exception) -> bytes:
    error.add_note("".join(traceback.format_exception(error)))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301 - pickled just above
    except Exception:  # noqa: BLE001 - any failure means that it cannot be pickled
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
