"""A worker: claims a rank, meets the others, runs the command, says how it ended.

The same code runs as a plain process under the local launcher and inside a container. It decides
nothing: `steps.next_step` says what comes next, and the coordinator what the gang does. When the
store is lost there is nobody left to run for, so what runs is ended.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audioloom_storage import Location, locate

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.causes import describe_end
from audioloom_yarn_launcher.rendezvous.kv import Equals, KeyValueStore, Missing, Put
from audioloom_yarn_launcher.rendezvous.messages import (
    BESIDE,
    GANG,
    ORDER,
    PLAN,
    RANKS,
    Exit,
    Member,
    Orders,
    Plan,
    decode_plan,
    encode,
    exit_key,
    first_key,
    generation_key,
    page_key,
    rank_key,
    read_orders,
    ready_key,
    scope_beside,
)
from audioloom_yarn_launcher.rendezvous.roles import BESIDE as ROLES_BESIDE
from audioloom_yarn_launcher.rendezvous.roles import TENSORBOARD, Group, group_of, ranks_of
from audioloom_yarn_launcher.runs.clock import now
from audioloom_yarn_launcher.system import bind_address, ports, processes
from audioloom_yarn_launcher.system.files import is_full, tail
from audioloom_yarn_launcher.system.redaction import restore
from audioloom_yarn_launcher.worker.environment import environment, leads, marker
from audioloom_yarn_launcher.worker.heartbeat import Pulse, Watched
from audioloom_yarn_launcher.worker.log import WorkerLog, open_log, say
from audioloom_yarn_launcher.worker.resource_usage import Program, Watch, container_limit_mb
from audioloom_yarn_launcher.worker.socket_watch import Lookout
from audioloom_yarn_launcher.worker.state_machine import Standing, Step, next_step

if TYPE_CHECKING:
    from audioloom_yarn_launcher.worker.tensorboard import Board

TAIL_BYTES = 2048
CLAIM_AGAIN_S = 0.25
STOP_GRACE_S = 2.0
END_WITHIN_S = 60.0
"""After the grace: a call to the store may hang for ever, and YARN's SIGKILL does not reach us."""
LEFT, TOLD_TO_STOP, ALONE = 0, 143, 75


@dataclass(frozen=True)
class Place:
    """Where a worker is.

    Args:
        host: what people call this machine.
        advertise: the host name or address under which the others reach it.
        environment: of the command, but for what tells it who it is.
        stop_grace_s: how long the command may take to end when the worker itself is told to.
        container: the id that YARN gave it, if it is in one. skein's, under which it owns keys,
            begin anew with each application master.
        show: makes the page of a server here seen by others; where they see it.
    """

    host: str
    advertise: str
    environment: Mapping[str, str] = field(repr=False)
    stop_grace_s: float = STOP_GRACE_S
    container: str = ""
    show: Callable[[str], str] = field(default=str, repr=False)


def work(store: KeyValueStore, me: str, prefer: int, place: Place, role: str | None = None) -> int:
    """Be a worker until the run is over; the exit code of this process.

    Must be called from the main thread: what it starts dies with that thread.

    Args:
        store: where the gang meets.
        me: the id that this worker may own keys under.
        prefer: the rank to try first, so that claims do not collide; of those of the role.
        place: where it is.
        role: what it is to be, None for anything in the gang.
    """
    worker = Worker(store, me, prefer, place, role)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    try:
        return worker.run()
    except StoreLost:
        return ALONE
    finally:
        worker.end()


class Worker:
    """What a worker holds: a rank, a port, a process, its log, and the page it may show."""

    def __init__(
        self, store: KeyValueStore, me: str, prefer: int, place: Place, role: str | None = None
    ) -> None:
        self._store = store
        self._role, self._beside = role, role in ROLES_BESIDE
        self._prefer = prefer
        self._place = place
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._told_to_stop = False
        self._stops: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._mine = Standing(id=me)
        self._plan: Plan | None = None
        self._port: socket.socket | None = None
        self._binding = bind_address.Binding()
        self._process: subprocess.Popen[bytes] | None = None
        self._marker = ""
        self._log: WorkerLog | None = None
        self._usage: Watch | None = None
        self._lookout: Lookout | None = None
        self._board: Board | None = None
        self._exit = Exit(id=me, code=None, stopped=True)
        self._pulse = Pulse(store, me, lambda: self._wakes.put(None), beside=self._beside)

    def stop(self) -> None:
        """Leave as soon as possible; safe to call from a signal handler."""
        self._told_to_stop = True
        self._stops.put(None)
        self._wakes.put(None)

    def _end_if_hung(self) -> None:
        """End this process some time after it was told to stop, whatever its main thread does."""
        self._stops.get()
        time.sleep(self._place.stop_grace_s + END_WITHIN_S)
        if self._marker:
            processes.sweep(self._marker)
        os._exit(TOLD_TO_STOP)

    def run(self) -> int:
        """Do step after step until there is none."""
        threading.Thread(target=self._end_if_hung, name="end-if-hung", daemon=True).start()
        heard = BESIDE if self._beside else ORDER
        self._store.subscribe(heard, lambda: self._wakes.put(None))
        self._pulse.start()
        while True:
            orders = read_orders(self._store.get_prefix(heard), self._scope)
            if self._told_to_stop:
                self._end_process(self._place.stop_grace_s)
                return TOLD_TO_STOP  # what it owned vanishes, and so the coordinator knows
            self._look_at_process()
            match next_step(orders, self._mine):
                case Step.LEAVE:
                    return LEFT
                case Step.CLAIM:
                    self._claim()
                case Step.PREPARE:
                    self._prepare(orders)
                case Step.START:
                    self._start(orders)
                case Step.STOP:
                    assert orders.end is not None  # noqa: S101 - next_step saw it
                    self._end_process(orders.end.grace_s)
                case Step.REPORT:
                    self._report()
                case Step.WAIT:
                    self._wakes.get()

    def end(self) -> None:
        """End what runs, and let go of everything."""
        self._end_process(0)
        if self._port is not None:
            self._port.close()
            self._port = None

    @property
    def _scope(self) -> str:
        """Below which it hears and says everything, once it has a rank."""
        if not self._beside:
            return GANG
        return BESIDE if self._mine.rank is None else scope_beside(self._mine.rank)

    def _takes(self, group: Group) -> bool:
        return not group.beside if self._role is None else group.role == self._role

    def _claim(self) -> None:
        plan = self._store.get_prefix(PLAN).get(PLAN)
        if plan is not None:
            self._plan = decode_plan(plan)
            taken = self._store.get_prefix(RANKS)
            mine = ranks_of(self._plan.groups, self._takes)
            first = self._prefer % max(len(mine), 1)
            for rank in mine[first:] + mine[:first]:
                if rank_key(rank) in taken:
                    continue
                put = Put(rank_key(rank), self._mine.id, self._mine.id)
                if self._store.transaction([Missing(put.key)], [put]):
                    self._mine = replace(self._mine, rank=rank)
                    return
        with suppress(queue.Empty):  # all are taken, perhaps by one that is about to vanish
            self._wakes.get(timeout=CLAIM_AGAIN_S)

    def _prepare(self, orders: Orders) -> None:
        self.end()
        self._exit = Exit(id=self._mine.id, code=None, stopped=True)
        assert self._mine.rank is not None  # noqa: S101 - next_step saw it
        assert orders.generation is not None  # noqa: S101
        self._port = ports.hold()
        self._binding = bind_address.binding_of(self._place.advertise)
        member = Member(
            id=self._mine.id,
            address=ports.address(self._place.advertise, self._port),
            host=self._place.host,
            pid=os.getpid(),
            exposed=self._binding.exposed,
        )
        # Not ready for a generation that has passed meanwhile, nor without the rank.
        still = [
            Equals(generation_key(self._scope), str(orders.generation)),
            Equals(rank_key(self._mine.rank), self._mine.id),
        ]
        key = ready_key(orders.generation, self._mine.rank, self._scope)
        if self._store.transaction(still, [Put(key, encode(member), self._mine.id)]):
            self._mine = Standing(
                id=self._mine.id, rank=self._mine.rank, generation=orders.generation
            )
        else:
            self._mine = Standing(id=self._mine.id, rank=self._rank_still_mine())

    def _rank_still_mine(self) -> int | None:
        held = self._store.get_prefix(RANKS)
        rank = self._mine.rank
        return rank if rank is not None and held.get(rank_key(rank)) == self._mine.id else None

    def _start(self, orders: Orders) -> None:
        plan, roster, rank = self._plan, orders.roster, self._mine.rank
        assert plan is not None  # noqa: S101 - there is a rank, so there was a plan
        assert roster is not None  # noqa: S101 - next_step saw it
        assert orders.generation is not None  # noqa: S101
        assert rank is not None  # noqa: S101
        folder = locate(plan.folder)
        self._log = open_log(folder, rank, roster.attempt, again=roster.again)
        runs_in = self._place.container or self._mine.id
        self._marker = marker(plan, runs_in, orders.generation)
        group = group_of(plan.groups, rank)  # in a command of its own nothing is masked
        command = group.command or restore(plan.command, self._place.environment)
        page_port = ports.free() if leads(plan, rank) or group.role == TENSORBOARD else None
        if group.role == TENSORBOARD:
            self._board = self._open_board(folder, page_port or 0)
            command = self._board.fill_in(command)
        variables = {
            **environment(*(self._place.environment, plan, roster, rank), page_port=page_port),
            processes.MARKER: self._marker,
        }
        if self._binding.exposed:
            say(self._log.output, bind_address.warning(self._binding.exposed))
        self._process = processes.start(
            command, environment=self._binding.variables(variables), output=self._log.output
        )
        if self._binding.address:
            tell = partial(say, self._log.output)
            pid, address = self._process.pid, self._binding.address
            self._lookout = Lookout(pid, self._marker, address, tell)
        if self._board is not None:
            key = page_key(orders.generation, rank, self._scope)
            self._board.begin(lambda page: self._say_page(key, page))
        program = Program(self._process.pid, container_limit_mb(), self._log.page)
        self._usage = Watch(folder, rank, roster.attempt, program)
        self._exit = Exit(
            id=self._mine.id, code=None, stopped=False, pid=self._process.pid, started=now()
        )
        self._pulse.watched = Watched(self._process.pid, plan.frozen_s / 2)
        self._mine = replace(self._mine, started=True, running=True)
        threading.Thread(target=self._wait_for, args=(self._process,), daemon=True).start()

    def _open_board(self, folder: Location, page_port: int) -> Board:
        from audioloom_yarn_launcher.worker.tensorboard import Board  # noqa: PLC0415

        below = Path.cwd() if self._place.container else None  # YARN takes it away in the end
        return Board(folder, self._place.advertise, page_port, self._place.show, below)

    def _say_page(self, key: str, page: str) -> None:
        self._store.transaction([], [Put(key, page, self._mine.id)])

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._wakes.put(None)

    def _look_at_process(self) -> None:
        if self._process is None:
            return
        watched = self._pulse.watched
        if self._process.poll() is not None:
            self._note_exit(self._process, stopped=False)
        elif watched is not None and watched.frozen:
            processes.end(self._process, marker=self._marker)
            why = f"was stopped (SIGSTOP) for {watched.limit_s:g} s, and was ended"
            self._note_exit(self._process, stopped=False, why=why)

    def _end_process(self, grace_s: float) -> None:
        if self._process is None:
            return
        stopped = self._process.poll() is None
        processes.end(self._process, marker=self._marker, grace_s=grace_s)
        self._note_exit(self._process, stopped=stopped)

    def _note_exit(self, process: subprocess.Popen[bytes], *, stopped: bool, why: str = "") -> None:
        self._pulse.watched = None
        if self._board is not None:
            self._board.close()
            self._board = None
        processes.sweep(self._marker)  # what it started and left behind holds files and devices
        last = ""
        if self._lookout is not None:
            self._lookout.close()
            self._lookout = None
        if self._usage is not None:
            self._usage.close()
        if self._log is not None:
            last = tail(self._log.output, TAIL_BYTES)
            if process.returncode > 0 and not why and not stopped and is_full(self._log.output):
                # It could perhaps not even say so: its log lies there too.
                why = f"{describe_end(process.returncode)}: the disk of its log has no room left"
            self._log.close()
        self._exit = replace(
            self._exit, code=process.returncode, stopped=stopped, ended=now(), tail=last, why=why
        )
        self._process, self._log = None, None
        self._mine = replace(self._mine, running=False)

    def _report(self) -> None:
        generation, rank = self._mine.generation, self._mine.rank
        assert generation is not None  # noqa: S101 - next_step saw it
        assert rank is not None  # noqa: S101
        report = Put(exit_key(generation, rank, self._scope), encode(self._exit))
        first = Put(first_key(generation, self._scope), str(rank))
        was_first = self._exit.failed and self._store.transaction(
            [Missing(first.key)], [first, report]
        )
        if not was_first:
            self._store.transaction([], [report])
        self._mine = replace(self._mine, reported=True)
