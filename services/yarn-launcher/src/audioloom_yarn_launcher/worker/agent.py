"""The agent of one rank: it claims a rank, registers, runs the command and reports its end.

The same code runs as a plain process under the local launcher and inside a container. It decides
nothing: `state_machine.next_action` returns its next action, and the coordinator directs the gang.
When the store is lost, the agent ends its process, because nobody would read its reports.
"""

import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from audioloom_storage import locate

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous import messages, roles
from audioloom_yarn_launcher.rendezvous.backend import Equals, KeyValueStore, Put
from audioloom_yarn_launcher.rendezvous.causes import describe_end
from audioloom_yarn_launcher.rendezvous.status import status_key
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.system import addresses, processes
from audioloom_yarn_launcher.system.files import is_full, tail
from audioloom_yarn_launcher.worker.environment import environment, marker, restore
from audioloom_yarn_launcher.worker.log import DirectLog, PublishedLog, open_log, warn
from audioloom_yarn_launcher.worker.state_machine import Action, State, next_action
from audioloom_yarn_launcher.worker.status_report import PROGRESS, ProgressFeed, StatusReport
from audioloom_yarn_launcher.worker.tensorboard import TensorBoard
from audioloom_yarn_launcher.worker.watches import Heartbeat, SocketWatch, WatchedProcess

TAIL_BYTES = 2048
CLAIM_AGAIN_S = 0.25
STOP_GRACE_S = 2.0
END_WITHIN_S = 60.0
"""After the grace: a call to the store may hang for ever, and YARN's SIGKILL does not reach us."""
LEFT, TOLD_TO_STOP, ALONE = 0, 143, 75


@dataclass(frozen=True)
class AgentContext:
    """The settings of an agent that depend on its machine.

    Args:
        host: name of this machine for people.
        advertise: host name or address of this machine for the other workers.
        environment: environment of the command, without its place in the gang.
        container: YARN's id of the container, if there is one. skein's ids, which own the keys,
            begin again with each application master.
        show: publishes a web page of this machine; answers the published address.
    """

    host: str
    advertise: str
    environment: Mapping[str, str] = field(repr=False)
    stop_grace_s: float = STOP_GRACE_S
    container: str = ""
    show: Callable[[str], str] = field(default=str, repr=False)


def work(worker: "Worker") -> int:
    """Run a worker until the run is over; return the exit code of this process.

    Call this from the main thread: the processes that it starts die with that thread.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    try:
        return worker.run()
    except StoreLost:
        return ALONE
    finally:
        worker.end()


@dataclass
class _Running:
    """A process of the command, its log, and what is to do when it has ended."""

    process: subprocess.Popen[bytes]
    log: DirectLog | PublishedLog
    ending: ExitStack


class Worker:
    """A worker: its rank, its port, its process, and the process's log and web page.

    Args:
        me: id under which this worker may own keys.
        prefer: rank of its role to try first, so that claims do not collide.
        role: role of this worker, None for any role of the gang.
    """

    def __init__(
        self,
        store: KeyValueStore,
        me: str,
        prefer: int,
        context: AgentContext,
        role: str | None = None,
    ) -> None:
        self._store = store
        self._role, self._is_sidecar = role, role in roles.SIDECARS
        self._prefer = prefer
        self._context = context
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._told_to_stop = False
        self._stops: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._mine = State(id=me)
        self._plan: messages.Plan | None = None
        self._port: socket.socket | None = None
        self._binding = addresses.Binding()
        self._running: _Running | None = None
        self._marker = ""
        self._exit = messages.Exit(id=me, code=None, stopped=True)
        self._heartbeat = Heartbeat(store, me, self._wake, sidecar=self._is_sidecar)

    def stop(self) -> None:
        """Request to leave as soon as possible; safe in a signal handler."""
        self._told_to_stop = True
        self._stops.put(None)
        self._wake()

    def _wake(self) -> None:
        self._wakes.put(None)

    def _end_if_hung(self) -> None:
        """Exit some time after the request to stop, even if the main thread hangs."""
        self._stops.get()
        time.sleep(self._context.stop_grace_s + END_WITHIN_S)
        if self._marker:
            processes.sweep(self._marker)
        os._exit(TOLD_TO_STOP)

    def run(self) -> int:
        """Take one action after the other until the run is over; return the exit code."""
        threading.Thread(target=self._end_if_hung, name="end-if-hung", daemon=True).start()
        orders_prefix = messages.SIDECAR if self._is_sidecar else messages.ORDER
        self._store.subscribe(orders_prefix, self._wake)
        self._heartbeat.start()
        try:
            while True:
                orders = messages.read_orders(self._store.get_prefix(orders_prefix), self._scope)
                if self._told_to_stop:
                    self._end_process(self._context.stop_grace_s)
                    return TOLD_TO_STOP  # its keys vanish, which informs the coordinator
                self._look_at_process()
                mine = self._mine
                match next_action(orders, mine):
                    case Action.LEAVE:
                        return LEFT
                    case Action.CLAIM:
                        self._claim()
                    case Action.PREPARE if mine.rank is not None and orders.generation is not None:
                        self._prepare(mine.rank, orders.generation)
                    case Action.START if self._plan is not None and orders.membership is not None:
                        self._start(self._plan, orders.membership)
                    case Action.STOP if orders.end is not None:
                        self._end_process(orders.end)
                    case Action.REPORT:
                        self._report()
                    case _:
                        self._wakes.get()
        finally:
            self._heartbeat.stop()

    def end(self) -> None:
        """End the process, and release the port."""
        self._end_process(0)
        if self._port is not None:
            self._port.close()
            self._port = None

    @property
    def _scope(self) -> messages.Scope:
        """The prefix of all orders and reports of this worker, once it has a rank."""
        if not self._is_sidecar:
            return messages.GANG
        return (
            messages.SIDECAR if self._mine.rank is None else messages.sidecar_scope(self._mine.rank)
        )

    @property
    def _position(self) -> tuple[int, int]:
        rank, generation = self._mine.rank, self._mine.generation
        if rank is None or generation is None:
            raise RuntimeError("this worker is not ready for a generation")
        return rank, generation

    def _claim(self) -> None:
        plan = self._store.get_prefix(messages.PLAN).get(messages.PLAN)
        if plan is not None:
            self._plan = messages.decode_plan(plan)
            taken = self._store.get_prefix(messages.RANKS)
            mine = roles.ranks_of(
                self._plan.roles,
                lambda group: group.role == self._role if self._role else not group.sidecar,
            )
            first = self._prefer % max(len(mine), 1)
            for rank in mine[first:] + mine[:first]:
                key = messages.GANG.report("rank", rank)
                if key in taken:
                    continue
                put = Put(key, self._mine.id, self._mine.id)
                if self._store.transaction([Equals(key, None)], [put]):
                    self._mine = replace(self._mine, rank=rank)
                    return
        with suppress(queue.Empty):  # all ranks are taken, perhaps one by a worker that is gone
            self._wakes.get(timeout=CLAIM_AGAIN_S)

    def _prepare(self, rank: int, generation: int) -> None:
        self.end()
        self._exit = messages.Exit(id=self._mine.id, code=None, stopped=True)
        self._port = addresses.hold_port()
        self._binding = addresses.binding_of(self._context.advertise)
        member = messages.Member(
            id=self._mine.id,
            address=addresses.address_of(self._context.advertise, self._port),
            host=self._context.host,
            pid=os.getpid(),
            exposed=self._binding.exposed,
        )
        # Meanwhile the generation may have changed, or another worker may hold the rank.
        still = [
            Equals(self._scope.order("generation"), str(generation)),
            Equals(messages.GANG.report("rank", rank), self._mine.id),
        ]
        key = self._scope.report("ready", generation, rank)
        if self._store.transaction(still, [Put(key, messages.encode(member), self._mine.id)]):
            self._mine = State(id=self._mine.id, rank=rank, generation=generation)
            return
        holder = self._store.get_prefix(messages.RANKS).get(messages.GANG.report("rank", rank))
        self._mine = State(id=self._mine.id, rank=rank if holder == self._mine.id else None)

    def _start(self, plan: messages.Plan, membership: messages.Membership) -> None:
        rank, generation = self._position
        folder = locate(plan.folder)
        size = roles.size_of(plan.roles)
        log = open_log(folder, rank, membership.attempt, size, again=membership.again)
        self._marker = marker(plan, self._context.container or self._mine.id, generation)
        group, _ = roles.tasks(plan.roles)[rank]
        # A role's own command has no masked words.
        command = group.command or restore(plan.command, self._context.environment)
        page_port = (
            addresses.free_port()
            if roles.leads(plan.roles, rank) or group.role == roles.TENSORBOARD
            else None
        )
        tensorboard = None
        if group.role == roles.TENSORBOARD:
            below = Path.cwd() if self._context.container else None  # YARN removes it at the end
            here = (self._context.advertise, page_port or 0, self._context.show, below)
            tensorboard = TensorBoard(folder, *here)
            command = tensorboard.fill_in(command)
        ending = ExitStack()
        feed = ProgressFeed()
        ending.callback(feed.close)
        variables = {
            **environment(self._context.environment, plan, membership, rank, page_port=page_port),
            PROGRESS: feed.path,
            processes.MARKER: self._marker,
        }
        if self._binding.exposed:
            warn(log.output, addresses.exposed_text(self._binding.exposed))
        process = processes.start(
            command,
            environment=self._binding.variables(variables),
            output=log.output,
            ended=self._wake,
        )
        reported = partial(Put, status_key(rank))
        status = StatusReport(
            lambda text: self._store.transaction([], [reported(text)]),
            {"rank": rank, "attempt": membership.attempt, "generation": membership.generation},
            process.pid,
            feed,
            size,
            log.page,
        )
        ending.callback(status.close)
        if self._binding.address:
            report = partial(warn, log.output)
            sockets = SocketWatch(process.pid, self._marker, self._binding.address, report)
            ending.callback(sockets.close)
        ending.callback(processes.sweep, self._marker)  # leftover children hold files and devices
        if tensorboard is not None:
            ending.callback(tensorboard.close)
            key = self._scope.report("page", generation, rank)
            put = partial(Put, key, owner=self._mine.id)
            tensorboard.begin(lambda page: self._store.transaction([], [put(page)]))
        self._running = _Running(process, log, ending)
        self._exit = messages.Exit(
            id=self._mine.id, code=None, stopped=False, pid=process.pid, started=now()
        )
        self._heartbeat.watched = WatchedProcess(process.pid, plan.frozen_s / 2)
        self._mine = replace(self._mine, started=True, running=True)

    def _look_at_process(self) -> None:
        if self._running is None:
            return
        process, watched = self._running.process, self._heartbeat.watched
        if process.poll() is not None:
            self._note_exit(self._running, stopped=False)
        elif watched is not None and watched.frozen:
            processes.end(process, marker=self._marker)
            text = f"was stopped (SIGSTOP) for {watched.limit_s:g} s, and was killed"
            self._note_exit(self._running, stopped=False, reason="frozen", text=text)

    def _end_process(self, grace_s: float) -> None:
        if self._running is None:
            return
        stopped = self._running.process.poll() is None
        processes.end(self._running.process, marker=self._marker, grace_s=grace_s)
        self._note_exit(self._running, stopped=stopped)

    def _note_exit(
        self, running: _Running, *, stopped: bool, reason: messages.Reason = "", text: str = ""
    ) -> None:
        self._heartbeat.watched = None
        running.ending.close()
        code, output = running.process.returncode, running.log.output
        last = tail(output, TAIL_BYTES)
        if code > 0 and not reason and not stopped and is_full(output):
            # The process may have failed to write an error, because its log is on the full disk.
            reason, text = "disk-full", f"{describe_end(code)}: the disk of its log is full"
        running.log.close()
        self._exit = replace(
            self._exit, code=code, stopped=stopped, ended=now(), tail=last, reason=reason, text=text
        )
        self._running = None
        self._mine = replace(self._mine, running=False)

    def _report(self) -> None:
        rank, generation = self._position
        key = self._scope.report("exit", generation, rank)
        first = Put(self._scope.report("first", generation), str(rank))
        was_first = self._exit.failed and self._store.transaction(
            [Equals(first.key, None)], [first, Put(key, messages.encode(self._exit))]
        )
        if not was_first:
            size = roles.size_of(self._plan.roles) if self._plan is not None else 1
            report = self._exit.after_the_first(size)
            self._store.transaction([], [Put(key, messages.encode(report))])
        self._mine = replace(self._mine, reported=True)
