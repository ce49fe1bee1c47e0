"""Who of the workers is gone: what the error says of it, and who answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from audioloom_trainer.distributed import peer_failures
from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.peer_failures import lost_peers, translate_peer_failures
from audioloom_trainer.errors import PeerLost

# As TensorFlow 2.21 says it; in its place stands who is meant.
HEARTBEAT = """Graph execution error:

Detected at node StatefulPartitionedCall/CollectiveReduceV2 defined at (most recent call last):
<stack traces unavailable>
Collective ops is aborted by: Error reported from /job:worker/task:1: The following tasks are \
unhealthy (stopped sending heartbeats):
/job:worker/replica:0/task:1
/job:worker/replica:0/task:2
The tasks have crashed. Check the task logs of /job:worker/replica:0/task:3 for an earlier error."""
BROKEN = """Collective ops is aborted by: recvmsg:Connection reset by peer
Additional GRPC error information from remote target /job:worker/replica:0/task:{task} while \
calling /tensorflow.WorkerService/RecvBuf:"""


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Addresses of a worker that answers, of one that is frozen and of one that is gone."""
    monkeypatch.setattr(peer_failures, "ASK_SECONDS", 10.0)  # the one that answers may have to wait
    with ExitStack() as stack:
        alive, frozen, gone = (stack.enter_context(socket.socket()) for _ in range(3))
        for each in (alive, frozen, gone):
            each.bind(("127.0.0.1", 0))
        alive.listen()
        frozen.listen()  # and never accepts: the kernel does
        stack.callback(alive.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=_answer, args=(alive,), daemon=True).start()
        names = {"alive": alive, "frozen": frozen, "gone": gone}
        yield {name: f"127.0.0.1:{each.getsockname()[1]}" for name, each in names.items()}


def _answer(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"\0\0\0\4\0\0\0\0\0")


def test_who_does_not_answer_is_lost(ports: dict[str, str]) -> None:
    """Gone or frozen, whomever the error names; this process itself is not asked."""
    cluster = Cluster((ports["alive"], ports["frozen"], "me:1", ports["gone"]), rank=2)
    expected = {1: ports["frozen"], 3: ports["gone"]}
    assert expected == lost_peers(cluster, BROKEN.format(task=0))


def test_an_address_that_says_nothing_is_lost() -> None:
    """Such as one without a port."""
    assert {1: "nowhere"} == lost_peers(Cluster(("me:1", "nowhere")), "Deadline Exceeded")


def test_the_word_of_the_heartbeats_counts() -> None:
    """It alone: of the others some may have ended by now, for they lost a peer too."""
    cluster = Cluster(("me:1", "b:1", "c:1", "d:1"))
    assert {1: "b:1", 2: "c:1"} == lost_peers(cluster, HEARTBEAT)


def test_when_all_answer_the_error_is_believed(ports: dict[str, str]) -> None:
    """A peer may have come back already. Whom it does not name nobody knows."""
    cluster = Cluster(("me:1", ports["alive"]))
    assert {1: ports["alive"]} == lost_peers(cluster, BROKEN.format(task=1))
    assert {} == lost_peers(cluster, BROKEN.format(task=0))
    assert {} == lost_peers(cluster, "Deadline Exceeded")


def test_tasks_are_counted_after_a_chief(ports: dict[str, str]) -> None:
    """TensorFlow begins anew for each job."""
    cluster = Cluster((ports["alive"], "me:1", ports["alive"]), rank=1, has_chief=True)
    assert {2: ports["alive"]} == lost_peers(cluster, BROKEN.format(task=1))
    assert {0: ports["alive"]} == lost_peers(cluster, "/job:chief/replica:0/task:0")


class UnavailableError(Exception):
    """As TensorFlow's is called."""


def test_the_error_names_who_is_lost_and_why() -> None:
    """By rank and address; the reason is not the first line of TensorFlow's."""
    cluster = Cluster(("me:1", "b:1", "c:1"))
    with pytest.raises(PeerLost) as caught, translate_peer_failures(cluster, "at step 3"):
        raise UnavailableError(HEARTBEAT)
    assert {1: "b:1", 2: "c:1"} == caught.value.lost
    for words in ("at step 3", "worker 1 (b:1)", "worker 2 (c:1)", "stopped sending heartbeats"):
        assert words in str(caught.value)


def test_what_no_peer_causes_passes() -> None:
    """Nobody is asked, and alone there is nobody to lose."""
    with (
        pytest.raises(ValueError, match="mine"),
        translate_peer_failures(Cluster(("a:1", "b:1")), "now"),
    ):
        raise ValueError("mine")
    with pytest.raises(UnavailableError), translate_peer_failures(Cluster(), "now"):
        raise UnavailableError("alone")
