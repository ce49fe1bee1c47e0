"""Recognise the TensorFlow errors that a lost peer causes, and find the lost peers.

TensorFlow's error names the peer whose connection broke, but that peer may have ended only because
a third one was lost. So the named peer counts as lost only if heartbeats reported it or if all
peers still answer. Otherwise each peer is contacted.
"""

import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from audioloom_stage.redaction import redact

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.errors import PeerLost

ASK_SECONDS = 2.0
# The preface of an HTTP/2 client (gRPC uses HTTP/2). A live server answers with its own SETTINGS.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_TASK = re.compile(r"/job:(chief|worker)(?:/replica:\d+)?/task:(\d+)")
_WITHOUT_HEARTBEAT = re.compile(r"stopped sending heartbeats\):((?:\s*/job:\S+/task:\d+)+)")


def lost_peers(cluster: Cluster, text: str) -> dict[int, str]:
    """Return rank and address of each peer that was lost, by the text of a collective's error."""
    found = _WITHOUT_HEARTBEAT.search(text)
    ranks = _named(cluster, found[1]) if found else _silent(cluster)
    return {rank: cluster.workers[rank] for rank in ranks or _named(cluster, text)}


def _named(cluster: Cluster, text: str) -> list[int]:
    before = {"chief": 0, "worker": int(cluster.has_chief)}
    return _others(cluster, {before[job] + int(number) for job, number in _TASK.findall(text)})


def _silent(cluster: Cluster) -> list[int]:
    answered: set[int] = set()

    def ask(rank: int) -> None:
        if _answers(cluster.workers[rank]):
            answered.add(rank)

    peers = _others(cluster, range(cluster.size))
    # Daemon threads, so that a slow name lookup does not delay the end of the process.
    threads = [threading.Thread(target=ask, args=(rank,), daemon=True) for rank in peers]
    for thread in threads:
        thread.start()
    give_up = time.monotonic() + ASK_SECONDS
    for thread in threads:
        thread.join(max(0.0, give_up - time.monotonic()))
    return [rank for rank in peers if rank not in answered]


def _answers(address: str) -> bool:
    """Return whether a server answers; a connection proves nothing, the kernel accepts it."""
    host, _, port = address.rpartition(":")
    try:
        where = (host.strip("[]"), int(port))
        with socket.create_connection(where, timeout=ASK_SECONDS / 2) as connection:
            connection.settimeout(ASK_SECONDS / 2)
            connection.sendall(_HELLO)
            return bool(connection.recv(1))
    except (OSError, ValueError):
        return False


def _others(cluster: Cluster, ranks: Iterable[int]) -> list[int]:
    return sorted(rank for rank in ranks if rank != cluster.rank and rank < cluster.size)


# Error texts of a collective whose peer was killed, frozen or cut off, or has ended by itself.
_PEER_ERRORS = (
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "UnavailableError",
)
_VAGUE_ERRORS = ("InternalError", "RuntimeError", "UnknownError")
# Text before the reason: the operations, with their names and source lines.
_NOT_SAYING = ("Graph execution error", "Detected at node", "File ", "<stack traces unavailable>")
_PEER_WORDS = ("collective", "heartbeat", "peer", "connection", "coordination", "socket", "worker")


@contextmanager
def translate_peer_failures(cluster: Cluster, when: str) -> Iterator[None]:
    """Turn errors that a lost peer causes into `PeerLost`; let other errors pass."""
    try:
        yield
    except Exception as error:
        name, text = type(error).__name__, str(error).lower()
        vague = name in _VAGUE_ERRORS and any(word in text for word in _PEER_WORDS)
        if cluster.size > 1 and (vague or name in _PEER_ERRORS):
            lost = lost_peers(cluster, str(error))
            gone = [f"worker {rank} ({address}) gone" for rank, address in lost.items()]
            raise PeerLost(
                f"a peer was lost {when}",
                lost=lost,
                found=f"{', '.join(gone) or 'no peer that does not answer'}: {_gist(error)}",
                hint="Start all workers again: the run goes on from its newest checkpoint.",
            ) from error
        raise


def _gist(error: Exception) -> str:
    """Return the first informative line of an error; graph errors begin with other lines."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(_NOT_SAYING)]
    return f"{type(error).__name__}: {redact(said[0])[:300].rstrip(':') if said else ''}"
