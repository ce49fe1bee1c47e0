"""Workers as containers of a skein application, which has one service for each role."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import Arrival
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost
from audioloom_yarn_launcher.rendezvous.roles import Group
from audioloom_yarn_launcher.system.waiting import poll
from audioloom_yarn_launcher.yarn import containers
from audioloom_yarn_launcher.yarn.container_logs import last_words_of
from audioloom_yarn_launcher.yarn.resource_manager import why_not_allocated
from audioloom_yarn_launcher.yarn.skein_application import as_store_lost

LEAVE_WITHIN_S = 15.0
KNOWN_WITHIN_S = 10.0
LOOK_EVERY_S = 1.0

ALIVE = (*containers.ASKED, "RUNNING")
ENDED = ("SUCCEEDED", "FAILED", "KILLED")


class SkeinWorkers:
    """`Workers` of a YARN cluster; the application master itself restarts no container.

    They call *changed*, from any thread, when a container has ended.
    """

    def __init__(
        self, groups: Sequence[Group], changed: Callable[[], None], *, application: Any
    ) -> None:
        self._application, self._changed = application, changed
        self._counts = {group.role: group.count for group in groups}
        self._before: set[str] = set()  # reported by an earlier request
        self._killed: set[str] = set()
        self._closed = threading.Event()
        threading.Thread(target=self._look_out, name="containers", daemon=True).start()

    def request_missing(self) -> None:
        """Request a container for each one that has ended."""
        self._before |= {each.id for each in self._containers(ENDED)} | self._killed
        living = [each for each in self._containers(ALIVE) if each.id not in self._killed]
        there = Counter(each.service for each in living)
        for service, count in self._counts.items():
            for _ in range(count - there[service]):
                with as_store_lost():
                    self._application.add_container(service)

    def exited(self) -> dict[str, WorkerLost]:
        """Return how each container ended that has ended since the last `request_missing`."""
        known = self._before | self._killed
        news = [each for each in self._containers(ENDED) if each.id not in known]
        said = last_words_of(each for each in news if containers.failed_itself(each))
        return {
            each.id: containers.loss_of_container(each, said.get(each.container, ""))
            for each in news
        }

    def exit_reason(self, worker: str) -> WorkerLost:
        """Return how the container ended; its node reports this a moment later."""

        def find() -> WorkerLost | None:
            ended = (each for each in self._containers(ENDED) if each.id == worker)
            return next(map(containers.loss_of_container, ended), None)

        found = poll(find, every_s=0.2, within_s=KNOWN_WITHIN_S)
        return found or WorkerLost("its keys vanished, and nothing is known of its container")

    def pending(self) -> int:
        """Number of containers that YARN has not allocated yet."""
        asked = self._containers(containers.ASKED)
        return sum(each.id not in self._killed for each in asked)

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        """Return the state of each unregistered container, from YARN and its log."""
        here = self._containers((*ALIVE, *ENDED))
        rows = [each for each in here if each.id not in self._before and each.id not in registered]
        wait = any(each.state in containers.ASKED for each in rows)
        shortage = why_not_allocated(self._application.id) if wait else ""
        said = last_words_of(each for each in rows if each.state == "RUNNING")
        return [
            containers.arrival(each, shortage=shortage, said=said.get(each.container, ""))
            for each in rows
        ]

    def kill(self, worker: str) -> None:
        """Kill the container."""
        if worker in self._killed:
            return
        self._killed.add(worker)
        with suppress(ValueError), as_store_lost():  # ValueError: it has already ended
            self._application.kill_container(worker)

    def close(self) -> None:
        """Wait for the containers to end; the application master kills the rest when it ends."""
        with suppress(StoreLost):
            poll(lambda: not self._containers(("RUNNING",)), every_s=0.1, within_s=LEAVE_WITHIN_S)
        self._closed.set()

    def _containers(self, states: Collection[str]) -> list[containers.ContainerState]:
        with as_store_lost():
            found = self._application.get_containers(
                services=list(self._counts), states=list(states)
            )
        return [_seen(each) for each in found]

    def _look_out(self) -> None:
        known = 0
        while not self._closed.wait(LOOK_EVERY_S):
            try:
                ended = len(self._containers(ENDED))
            except StoreLost:  # the coordinator's own calls tell whether it is lost
                self._changed()
                continue
            if ended != known:
                known = ended
                self._changed()


def _seen(container: Any) -> containers.ContainerState:
    started = container.start_time
    return containers.ContainerState(
        id=f"{container.service_name}_{container.instance}",
        state=str(container.state),
        node=container.yarn_node_http_address or "",
        since_s=None if started is None else time.time() - started.timestamp(),
        told=container.exit_message or "",
        container=container.yarn_container_id or "",
    )
