"""`worker`: the command line of an agent, which the launcher writes.

It is parsed without the machinery of the other commands: that would cost each worker of a gang more
than all the rest of its start.
"""

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence

from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.worker.agent import AgentContext, Worker, work

STDERR = 2


def main(words: Sequence[str]) -> int:
    """Run the worker that the arguments describe; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="audioloom-yarn-launcher worker",
        description="Be one worker of a gang. For the launcher itself, which writes this line.",
    )
    parser.add_argument("--connection", type=int, help="of a store, open here; none in a container")
    parser.add_argument("--id", help="the id of this worker, where no container gives it one")
    parser.add_argument("--prefer", type=int, default=0, help="the rank to try first")
    parser.add_argument("--advertise", required=True, help="host name or address for the others")
    parser.add_argument("--role", help="the role of this container; otherwise any")
    parser.add_argument("--launch", help="the id of the launch, in a container")
    parser.add_argument("--guarded", action="store_true", help="in a container, below its guard")
    asked = parser.parse_args(words)
    if asked.connection is not None:
        return _work_here(asked)
    if not asked.guarded:
        return _guard(words, asked.launch)
    from audioloom_yarn_launcher.commands.container_worker import (  # noqa: PLC0415 - or a local one
        work_in_container,
    )

    return work_in_container(asked.advertise, asked.role)


def _guard(words: Sequence[str], launch: str) -> int:
    """Start the worker of a container, outlive it, and kill what it left behind.

    A node that ends a container sends SIGTERM and, a quarter of a second later, SIGKILL: too early
    for a worker to find the processes that its command left behind. The worker has a session of its
    own, which that SIGKILL does not reach: it notices the guard's death, and takes the time it
    needs. If the worker itself is killed, the guard kills the rest, by the launch in its marker.
    """
    program = [sys.executable, "-I", "-m", "audioloom_yarn_launcher", "worker", *words, "--guarded"]
    worker = processes.start(
        program, environment=os.environ, output=STDERR, when_orphaned=signal.SIGTERM
    )

    def tell(*_: object) -> None:
        worker.terminate()
        worker.send_signal(signal.SIGCONT)  # a stopped worker would not act on SIGTERM

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, tell)
    code = worker.wait()
    processes.sweep(f"{launch}/{os.environ['CONTAINER_ID']}/")
    return code if code >= 0 else 128 - code


def _work_here(asked: argparse.Namespace) -> int:
    from audioloom_yarn_launcher.local.kv_client import StoreClient  # noqa: PLC0415 - or skein's

    connection = socket.socket(fileno=asked.connection)
    connection.set_inheritable(False)  # the command must not have it
    store = StoreClient(connection)
    context = AgentContext(socket.gethostname(), asked.advertise, os.environ)
    try:
        return work(Worker(store, asked.id, asked.prefer, context, asked.role))
    finally:
        store.close()
