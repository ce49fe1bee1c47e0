"""`worker`: the command line of a worker. The launcher writes it, nobody else.

It is read without the machinery of the other commands, which would cost each worker of a gang more
than all the rest of its start.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence

from audioloom_yarn_launcher.local_kv_client import StoreClient
from audioloom_yarn_launcher.worker import work


def main(words: Sequence[str]) -> int:
    """Be the worker that the words ask for; the exit code."""
    parser = argparse.ArgumentParser(
        prog="audioloom-yarn-launcher worker",
        description="Be one worker of a gang. For the launcher itself, which writes this line.",
    )
    parser.add_argument(
        "--store", required=True, type=_descriptor, help="fd:NUMBER, a connection that is open"
    )
    parser.add_argument("--id", required=True, help="the id of this worker")
    parser.add_argument("--prefer", type=int, default=0, help="the rank to try first")
    parser.add_argument("--advertise", required=True, help="host name or address for the others")
    asked = parser.parse_args(words)
    connection = socket.socket(fileno=asked.store)
    connection.set_inheritable(False)  # what this worker runs has no business with it
    store = StoreClient(connection)
    try:
        return work(store, me=asked.id, prefer=asked.prefer, advertise=asked.advertise)
    finally:
        store.close()


def _descriptor(text: str) -> int:
    kind, _, number = text.partition(":")
    if kind != "fd" or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected fd:NUMBER, found {text}")
    return int(number)
