"""`worker`: the command line of an agent, which the launcher writes.

It is parsed without the machinery of the other commands: that would cost each worker of a gang more
than all the rest of its start.
"""

import argparse
import os
import socket
from collections.abc import Sequence

from audioloom_yarn_launcher.worker.agent import AgentContext, Worker, work


def main(words: Sequence[str]) -> int:
    """Run the worker that the arguments describe; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="audioloom-yarn-launcher worker",
        description="Be one worker of a gang. For the launcher itself, which writes this line.",
    )
    parser.add_argument(
        "--store",
        required=True,
        type=_store,
        help="fd:NUMBER, an open connection; or skein, the store of this container's application",
    )
    parser.add_argument("--id", help="the id of this worker, where no container gives it one")
    parser.add_argument("--prefer", type=int, default=0, help="the rank to try first")
    parser.add_argument("--advertise", required=True, help="host name or address for the others")
    parser.add_argument("--role", help="the role of this container; otherwise any")
    parser.add_argument("--launch", help="the id of the launch, in a container")
    parser.add_argument("--guarded", action="store_true", help="in a container, below its guard")
    asked = parser.parse_args(words)
    if asked.store is None:
        return _work_in_container(asked, words)
    if asked.id is None:
        parser.error("--id is needed with fd:NUMBER")
    return _work_here(asked)


def _work_in_container(asked: argparse.Namespace, words: Sequence[str]) -> int:
    if not asked.guarded:
        from audioloom_yarn_launcher.commands.container_guard import guard  # noqa: PLC0415

        return guard(words, asked.launch)
    from audioloom_yarn_launcher.commands.container_worker import (  # noqa: PLC0415 - or a local one
        work_in_container,
    )

    return work_in_container(asked.advertise, asked.role)


def _work_here(asked: argparse.Namespace) -> int:
    from audioloom_yarn_launcher.local.kv_client import StoreClient  # noqa: PLC0415 - or skein's

    connection = socket.socket(fileno=asked.store)
    connection.set_inheritable(False)  # the command must not have it
    store = StoreClient(connection)
    context = AgentContext(socket.gethostname(), asked.advertise, os.environ)
    try:
        return work(Worker(store, asked.id, asked.prefer, context, asked.role))
    finally:
        store.close()


def _store(text: str) -> int | None:
    if text == "skein":
        return None
    kind, _, number = text.partition(":")
    if kind != "fd" or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected fd:NUMBER or skein, found {text}")
    return int(number)
