"""Workers as processes of this machine, each with its own connection to the launcher's store."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from audioloom_yarn_launcher.local.kv_server import StoreServer
from audioloom_yarn_launcher.rendezvous.backend import Arrival, silent_text
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost, code_after, describe_end
from audioloom_yarn_launcher.rendezvous.roles import Group, size_of
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.system.files import nameless, tail

LEAVE_WITHIN_S = 10.0
KNOWN_WITHIN_S = 5.0
TAIL_BYTES = 2048


@dataclass(frozen=True)
class Agent:
    """A worker's process, and the nameless file for the agent's own messages."""

    id: str
    process: subprocess.Popen[bytes]
    messages: int
    since: float


class LocalWorkers:
    """`Workers` of this machine.

    Args:
        groups: the roles of the gang, or the role of its sidecars.
        changed: called, from any thread, when a worker has ended.
        marker: the plan's marker, by which the processes of a lost worker are found.
        advertise: the address of this machine for the workers.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        changed: Callable[[], None],
        *,
        server: StoreServer,
        marker: str,
        advertise: str,
        variables: Mapping[str, str],
    ) -> None:
        self._size, self._changed, self._server = size_of(groups), changed, server
        self._marker, self._advertise, self._variables = marker, advertise, variables
        self._role = groups[0].role if groups[0].sidecar else None
        self._slots: dict[int, Agent] = {}
        self._gone: dict[str, WorkerLost] = {}
        self._before: set[str] = set()  # reported by an earlier request
        self._started = 0

    def request_missing(self) -> None:
        """Start a process for each slot without one; main thread only, see `processes.start`."""
        self._before |= self.exited().keys()
        for slot in range(self._size):
            if slot not in self._slots:
                self._slots[slot] = self._start(slot)

    def exited(self) -> dict[str, WorkerLost]:
        """Return how each worker ended whose process has ended since the last `request_missing`."""
        for slot, agent in [*self._slots.items()]:
            if agent.process.poll() is not None:
                self._forget(slot, agent)
        return {each: loss for each, loss in self._gone.items() if each not in self._before}

    def exit_reason(self, worker: str) -> WorkerLost:
        """Return how this worker's process ended; the process may outlive its keys by a moment."""
        for agent in self._agents(worker):
            try:
                agent.process.wait(KNOWN_WITHIN_S)
            except subprocess.TimeoutExpired:
                text = f"process {agent.process.pid} closed its connection and still runs"
                return WorkerLost(text)
        self.exited()
        return self._gone.get(worker, WorkerLost("nothing is known of its process"))

    def pending(self) -> int:
        """Return 0: a process starts at once."""
        return 0

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        """Return the state of each worker's process that is not registered."""
        lost = self.exited().items()
        rows = [Arrival(worker, "ended", reason=loss.text) for worker, loss in lost]
        for agent in self._slots.values():
            if agent.id not in registered:
                age = time.monotonic() - agent.since
                said = tail(agent.messages, TAIL_BYTES)
                runs = f"process {agent.process.pid} runs since {age:.0f} s"
                row = Arrival(agent.id, "unregistered", host=socket.gethostname(), since_s=age)
                rows.append(replace(row, reason=f"{runs} and {silent_text(said)}", tail=said))
        return rows

    def kill(self, worker: str) -> None:
        """Kill the worker's process; the kernel then kills the process that it started."""
        for agent in self._agents(worker):
            processes.end(agent.process, marker=f"{self._marker}/{agent.id}/")
        self.exited()

    def close(self) -> None:
        """Wait for the processes to end, and kill the rest."""
        left = [*self._slots.values()]
        for agent in left:
            if agent.process.poll() is None:
                agent.process.terminate()  # a worker may have missed the end of the run
        deadline = time.monotonic() + LEAVE_WITHIN_S
        for agent in left:
            try:
                agent.process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                agent.process.kill()
                agent.process.wait()
        self.exited()
        processes.sweep(f"{self._marker}/{self._role or 'worker'}-")

    def _agents(self, worker: str) -> list[Agent]:
        return [agent for agent in self._slots.values() if agent.id == worker]

    def _start(self, slot: int) -> Agent:
        name = f"{self._role or 'worker'}-{self._started}"
        self._started += 1
        messages = nameless()
        with self._server.admit(name) as connection:
            process = processes.start(
                agent_command(connection.fileno(), name, slot, self._role, self._advertise),
                environment={**os.environ, **self._variables},
                output=messages,
                when_orphaned=signal.SIGTERM,
                pass_fds=[connection.fileno()],
                ended=self._changed,
            )
        return Agent(name, process, messages, time.monotonic())

    def _forget(self, slot: int, agent: Agent) -> None:
        said = tail(agent.messages, TAIL_BYTES).rpartition("\n")[2]
        ending = f" after writing: {said}" if said else ""
        self._gone[agent.id] = WorkerLost(
            f"its process {agent.process.pid} {describe_end(agent.process.returncode)}{ending}",
            code_after(said),
        )
        os.close(agent.messages)
        del self._slots[slot]
        processes.sweep(f"{self._marker}/{agent.id}/")


def agent_command(
    descriptor: int, worker: str, slot: int, role: str | None, advertise: str
) -> list[str]:
    """Make the command of a worker: this program, run by this interpreter."""
    # Its path excludes the working folder and the command's PYTHONPATH.
    program = [sys.executable, "-E", "-P", "-m", "audioloom_yarn_launcher", "worker"]
    store = [f"--connection={descriptor}", f"--id={worker}"]
    which = [f"--prefer={slot}", *([f"--role={role}"] if role else [])]
    return [*program, *store, *which, f"--advertise={advertise}"]
