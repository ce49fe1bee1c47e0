"""What TensorFlow raises, as what it means: our own input failed, a peer is gone, or neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from audioloom_stage import redact

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.peers import lost_peers
from audioloom_trainer.errors import PeerLost

# What a collective ends with when a peer is killed, frozen, cut off or has ended on its own.
_PEER_ERRORS = (
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "UnavailableError",
)
_VAGUE_ERRORS = ("InternalError", "RuntimeError", "UnknownError")
# What stands before the reason: the operations, by name and by the line that made them.
_NOT_SAYING = ("Graph execution error", "Detected at node", "File ", "<stack traces unavailable>")
_PEER_WORDS = ("collective", "heartbeat", "peer", "connection", "coordination", "socket", "worker")


@contextmanager
def translate_peer_failures(cluster: Cluster, when: str) -> Iterator[None]:
    """Inside, an error that a lost peer causes becomes `PeerLost`; any other passes.

    Args:
        cluster: a process that is alone has no peer to lose.
        when: "at step 12", for the error.
    """
    try:
        yield
    except Exception as error:
        if cluster.size > 1 and _is_peers(error):
            lost = lost_peers(cluster, str(error))
            raise PeerLost(
                f"a peer was lost {when}",
                lost=lost,
                found=f"{_shown(lost)}: {_gist(error)}",
                hint="Start all workers again: the run goes on from its newest checkpoint.",
            ) from error
        raise


def _shown(lost: Mapping[int, str]) -> str:
    if not lost:
        return "no peer that does not answer"
    return ", ".join(f"worker {rank} ({address}) gone" for rank, address in lost.items())


def _is_peers(error: Exception) -> bool:
    name = type(error).__name__
    text = str(error).lower()
    said = any(word in text for word in _PEER_WORDS)
    return name in _PEER_ERRORS or (name in _VAGUE_ERRORS and said)


def _gist(error: Exception) -> str:
    """The first line that says something; of a graph's error that is not the first of all."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(_NOT_SAYING)]
    return f"{type(error).__name__}: {redact(said[0])[:300].rstrip(':') if said else ''}"
