"""Workers as processes of this machine, each with its own connection to the launcher's store."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from audioloom_yarn_launcher.local.kv_server import StoreServer
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival, silent_text
from audioloom_yarn_launcher.rendezvous.causes import Loss, code_after, describe_end
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.system.files import tail

LEAVE_WITHIN_S = 10.0
KNOWN_WITHIN_S = 5.0
TAIL_BYTES = 2048

AgentCommand = Callable[[int, str, int, str | None], list[str]]
"""The command of a worker: from the descriptor of its connection, its id, its slot and its role."""


@dataclass(frozen=True)
class Agent:
    """A worker's process, and the nameless file that its own messages go to."""

    id: str
    process: subprocess.Popen[bytes]
    messages: int
    since: float


class LocalWorkers:
    """`Workers` of this machine.

    Args:
        size: how many.
        server: the store's.
        marker: the one of the plan, by which what a lost worker left behind is found.
        command: the command of a worker.
        variables: for a worker, beside what this process has.
        changed: called, from any thread, when a worker has ended.
        role: of all of them, if it is one beside the gang.
    """

    def __init__(
        self,
        size: int,
        *,
        server: StoreServer,
        marker: str,
        command: AgentCommand,
        variables: Mapping[str, str],
        changed: Callable[[], None],
        role: str | None = None,
    ) -> None:
        self._server, self._marker, self._command = server, marker, command
        self._role = role
        self._variables = variables
        self._changed = changed
        self._slots: list[Agent | None] = [None] * size
        self._gone: dict[str, Loss] = {}
        self._before: set[str] = set()  # gone, and no news any more
        self._started = 0

    def fill(self) -> None:
        """Start a process for each slot whose worker has ended. Main thread only: see `start`."""
        self._before |= self.lost().keys()
        for slot, agent in enumerate(self._slots):
            if agent is None:
                self._slots[slot] = self._start(slot)

    def lost(self) -> dict[str, Loss]:
        """The workers whose process has ended since the last `fill`, and how."""
        for slot, agent in enumerate(self._slots):
            if agent is not None and agent.process.poll() is not None:
                self._forget(slot, agent)
        return {each: loss for each, loss in self._gone.items() if each not in self._before}

    def why_gone(self, worker: str) -> Loss:
        """How the process of this worker ended; a moment may pass between its keys and itself."""
        for agent in self._slots:
            if agent is not None and agent.id == worker:
                try:
                    agent.process.wait(KNOWN_WITHIN_S)
                except subprocess.TimeoutExpired:
                    text = f"process {agent.process.pid} closed its connection and still runs"
                    return Loss(text)
        self.lost()
        return self._gone.get(worker, Loss("nothing is known of its process"))

    def unplaced(self) -> int:
        """None: a process that was started has its place."""
        return 0

    def absent(self, present: Collection[str]) -> list[Arrival]:
        """What is known of the processes of the workers that are not there."""
        lost = self.lost().items()
        rows = [Arrival(worker, "ended", reason=loss.text) for worker, loss in lost]
        for agent in self._slots:
            if agent is not None and agent.id not in present:
                age = time.monotonic() - agent.since
                said = tail(agent.messages, TAIL_BYTES)
                runs = f"process {agent.process.pid} runs since {age:.0f} s"
                reason = f"{runs} and {silent_text(said)}"
                host = socket.gethostname()
                rows.append(
                    Arrival(agent.id, "silent", host=host, since_s=age, reason=reason, tail=said)
                )
        return rows

    def kill(self, worker: str) -> None:
        """SIGKILL to the worker's process; the kernel passes it on to what it runs."""
        for agent in self._slots:
            if agent is not None and agent.id == worker:
                family = processes.marked(f"{self._marker}/{agent.id}/")
                agent.process.kill()
                agent.process.wait()
                processes.sweep(f"{self._marker}/{agent.id}/", family)
        self.lost()

    def close(self) -> None:
        """Wait for the processes to end, end those that do not, and sweep up."""
        left = [agent for agent in self._slots if agent is not None]
        for agent in left:
            if agent.process.poll() is None:
                agent.process.terminate()  # some may never have come to hear that the run is over
        deadline = time.monotonic() + LEAVE_WITHIN_S
        for agent in left:
            try:
                agent.process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                agent.process.kill()
                agent.process.wait()
        self.lost()
        processes.sweep(f"{self._marker}/{self._called}-")

    @property
    def _called(self) -> str:
        return self._role or "worker"

    def _start(self, slot: int) -> Agent:
        name = f"{self._called}-{self._started}"
        self._started += 1
        messages, path = tempfile.mkstemp()
        Path(path).unlink()  # nobody needs its name, and so nothing is left behind
        with self._server.admit(name) as connection:
            process = processes.start(
                self._command(connection.fileno(), name, slot, self._role),
                environment={**os.environ, **self._variables},
                output=messages,
                when_orphaned=signal.SIGTERM,
                pass_fds=[connection.fileno()],
            )
        threading.Thread(target=self._wait_for, args=(process,), daemon=True).start()
        return Agent(name, process, messages, time.monotonic())

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._changed()

    def _forget(self, slot: int, agent: Agent) -> None:
        said = tail(agent.messages, TAIL_BYTES).rpartition("\n")[2]
        ending = f" after saying: {said}" if said else ""
        self._gone[agent.id] = Loss(
            f"its process {agent.process.pid} {describe_end(agent.process.returncode)}{ending}",
            code_after(said),
        )
        os.close(agent.messages)
        self._slots[slot] = None
        processes.sweep(f"{self._marker}/{agent.id}/")


def worker_command(advertise: str) -> AgentCommand:
    """The command of a worker: this program, by the interpreter that runs it now."""

    def command(descriptor: int, worker: str, slot: int, role: str | None) -> list[str]:
        # Neither the working folder is on its path, nor what a PYTHONPATH for the command names.
        program = [sys.executable, "-E", "-P", "-m", "audioloom_yarn_launcher", "worker"]
        store = [f"--store=fd:{descriptor}", f"--id={worker}"]
        which = [f"--prefer={slot}", *([f"--role={role}"] if role else [])]
        return [*program, *store, *which, f"--advertise={advertise}"]

    return command
