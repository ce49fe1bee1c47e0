"""Which workers are gone: as TensorFlow's error says it, else by asking each of them.

The error names whoever the connection broke to, and that may be one who only ended because a third
was lost. So its word counts where it comes from the heartbeats, or where all peers still answer.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterable

from audioloom_trainer.distributed.cluster import Cluster

_ASK_SECONDS = 2.0
# How a client of HTTP/2 (which gRPC speaks) begins; a server that is alive answers with the same.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_TASK = re.compile(r"/job:(chief|worker)(?:/replica:\d+)?/task:(\d+)")
_WITHOUT_HEARTBEAT = re.compile(r"stopped sending heartbeats\):((?:\s*/job:\S+/task:\d+)+)")


def lost_peers(cluster: Cluster, text: str) -> dict[int, str]:
    """Rank and address of each peer that is lost, as far as it can be known.

    Args:
        cluster: who trained; this process is not asked.
        text: of the error that a collective ended with.
    """
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
    # Threads that nobody waits for at the end: looking up a name may take much longer.
    threads = [threading.Thread(target=ask, args=(rank,), daemon=True) for rank in peers]
    for thread in threads:
        thread.start()
    give_up = time.monotonic() + _ASK_SECONDS
    for thread in threads:
        thread.join(max(0.0, give_up - time.monotonic()))
    return [rank for rank in peers if rank not in answered]


def _answers(address: str) -> bool:
    """Whether a server speaks there; the kernel alone takes connections for a frozen one too."""
    host, _, port = address.rpartition(":")
    try:
        where = (host.strip("[]"), int(port))
        with socket.create_connection(where, timeout=_ASK_SECONDS / 2) as connection:
            connection.settimeout(_ASK_SECONDS / 2)
            connection.sendall(_HELLO)
            return bool(connection.recv(1))
    except (OSError, ValueError):
        return False


def _others(cluster: Cluster, ranks: Iterable[int]) -> list[int]:
    return sorted(rank for rank in ranks if rank != cluster.rank and rank < cluster.size)
