"""What TensorFlow raises, as what it means: our own input failed, a peer is gone, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from audioloom_trainer.cluster import Cluster
from audioloom_trainer.errors import PeerLost

__all__ = ["peers_watched"]

# What a collective ends with when a peer is killed, frozen, cut off or has ended on its own.
_PEER_ERRORS = (
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "UnavailableError",
)
_VAGUE_ERRORS = ("InternalError", "RuntimeError", "UnknownError")
_PEER_WORDS = ("collective", "heartbeat", "peer", "connection", "coordination", "socket", "worker")


@contextmanager
def peers_watched(cluster: Cluster, when: str) -> Iterator[None]:
    """Inside, an error that a lost peer causes becomes `PeerLost`; any other passes.

    Args:
        cluster: a process that is alone has no peer to lose.
        when: "at step 12", for the error.
    """
    try:
        yield
    except Exception as error:
        if cluster.size > 1 and _is_peers(error):
            raise PeerLost(
                f"a peer was lost {when}",
                found=_first_line(error),
                hint="Start all workers again: the run goes on from its newest checkpoint.",
            ) from error
        raise


def _is_peers(error: Exception) -> bool:
    name = type(error).__name__
    text = str(error).lower()
    said = any(word in text for word in _PEER_WORDS)
    return name in _PEER_ERRORS or (name in _VAGUE_ERRORS and said)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
