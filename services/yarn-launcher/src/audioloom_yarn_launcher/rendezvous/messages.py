"""The messages that the coordinator and the workers of a gang exchange, and their keys.

Orders, which only the coordinator writes and every worker watches:

    gang/order/plan                 what to run: `Plan`
    gang/order/generation           how many times the gang was restarted, from 0
    gang/order/membership/<g>       who runs in generation g, final: `Membership`
    gang/order/end/<g>              generation g is over: SIGTERM, and SIGKILL after these seconds
    gang/order/outcome              the run is over, leave

Reports, which the workers write and only the coordinator watches:

    gang/worker/rank/<r>            id of the worker that holds rank r; owned by it
    gang/worker/ready/<g>/<r>       it holds a port for generation g: `Member`; owned by it
    gang/worker/exit/<g>/<r>        how its process ended: `Exit`
    gang/worker/first/<g>           rank of the first process that failed by itself

Heartbeats, which the coordinator reads at intervals; they wake nobody:

    gang/heartbeat/<id>             a count that rises while the worker lives; owned by it

Requests of clients, which only the coordinator watches:

    gang/client/stop                end the run: `Stop`

So a worker's report wakes the coordinator alone, whatever the size of the gang.

A sidecar has the same orders and reports below `sidecar/<r>/`, one scope for each rank, with
generations of its own; only the ranks of all workers are claimed in one place. It sends one more
report:

    sidecar/<r>/worker/page/<g>/<r>   where the web page of its process can be seen

and its heartbeats are below `sidecar-heartbeat/`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Literal

from audioloom_yarn_launcher.rendezvous.limits import FROZEN_S
from audioloom_yarn_launcher.rendezvous.roles import Group, gang_groups, size_of


class Scope(str):
    """The prefix of all orders and reports of the gang, or of a sidecar."""

    __slots__ = ()

    def order(self, *name: str | int) -> str:
        """The key of an order, as in `GANG.order("membership", generation)`."""
        return f"{self}order/{'/'.join(map(str, name))}"

    def report(self, *name: str | int) -> str:
        """The key of a report, as in `GANG.report("ready", generation, rank)`."""
        return f"{self}worker/{'/'.join(map(str, name))}"


GANG, SIDECAR = Scope("gang/"), Scope("sidecar/")
ORDER, WORKER = GANG.order(""), GANG.report("")
HEARTBEAT, SIDECAR_HEARTBEAT = f"{GANG}heartbeat/", "sidecar-heartbeat/"
PLAN, RANKS = GANG.order("plan"), GANG.report("rank", "")
CLIENT = f"{GANG}client/"
STOP_KEY = f"{CLIENT}stop"

Reason = Literal[
    "",  # the exit code says everything known
    "frozen",  # stopped by SIGSTOP, or without heartbeats
    "disk-full",  # the disk of its log has no space left
    "memory",  # its container used more memory than it may
    "node-lost",  # YARN has lost contact with its node
    "disk-failed",  # the disks of its node failed
    "preempted",  # YARN gave its container to another queue
    "localization",  # a file or archive for its container is missing
]
"""Why a worker or its process ended, as records hold it."""

TAILS_BYTES = 1 << 19
"""For the last lines of all workers but the first: gRPC refuses an answer of more than 4 MiB."""
_REMEMBERED = 1 << 15
"""Decoded messages in memory: each look reads all messages again, and most have not changed."""


def sidecar_scope(rank: int) -> Scope:
    """The scope of a sidecar."""
    return Scope(f"{SIDECAR}{rank}/")


@dataclass(frozen=True)
class Plan:
    """The work of every worker.

    Args:
        command: the program and its arguments, for roles without a command of their own. Secrets
            are masked; a worker gets them in a variable.
        marker: a variable's value by which all processes of the command can be found.
        frozen_s: seconds without a heartbeat after which a worker counts as frozen. A process that
            is stopped counts as frozen after half as many.
    """

    roles: tuple[Group, ...]
    command: tuple[str, ...]
    folder: str
    marker: str
    frozen_s: float = FROZEN_S

    @property
    def gang_size(self) -> int:
        """Number of workers without the sidecars, whose ranks come last."""
        return size_of(gang_groups(self.roles))


@dataclass(frozen=True)
class Member:
    """A worker that is ready; it keeps its address bound until its process has ended.

    It tells why its command may listen at other addresses too, as *exposed*.
    """

    id: str
    address: str
    host: str
    pid: int
    exposed: str = ""


@dataclass(frozen=True)
class Membership:
    """The workers of a generation, by rank, and the sidecar that reads this message, if one does.

    *again* tells whether the sidecar had a process before in this attempt.
    """

    attempt: int
    generation: int
    members: tuple[Member, ...]
    sidecar: Member | None = None
    again: bool = False

    def of(self, rank: int) -> Member | None:
        """Return the worker of this rank."""
        return self.members[rank] if rank < len(self.members) else self.sidecar


@dataclass(frozen=True)
class Exit:
    """The end of a worker's process.

    Args:
        code: exit code; negative for a signal, as in `subprocess`; None if it was never started.
        stopped: the worker ended it on an order.
        started: start time, RFC 3339 by the worker's clock.
        tail: the last lines of its output.
        text: the reason in words that continue a subject.
    """

    id: str
    code: int | None
    stopped: bool
    pid: int | None = None
    started: str | None = None
    ended: str | None = None
    tail: str = ""
    reason: Reason = ""
    text: str = ""

    @property
    def failed(self) -> bool:
        """Whether the process failed without an order to stop."""
        return not self.stopped and self.code != 0

    def after_the_first(self, size: int) -> "Exit":
        """Shorten the last lines of one of *size* workers that was not the first to fail.

        The reports of all workers are read in one call.
        """
        output = self.tail.encode()
        limit = TAILS_BYTES // size if self.failed else 0
        return replace(self, tail=output[max(0, len(output) - limit) :].decode(errors="ignore"))

    @property
    def exit_code(self) -> int | None:
        """The exit code; None if a signal ended the process or it was never started."""
        return self.code if self.code is not None and self.code >= 0 else None

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended the process."""
        return -self.code if self.code is not None and self.code < 0 else None


@dataclass(frozen=True)
class Stop:
    """The request of a client to end the run: *signal* to the client, SIGTERM for `kill`.

    From the second of *times* on, processes get no time to end by themselves.
    """

    signal: int
    times: int = 1


@dataclass(frozen=True)
class Orders:
    """The orders for a worker at one moment; *end* is the grace in seconds of an end."""

    generation: int | None = None
    membership: Membership | None = None
    end: float | None = None
    over: bool = False


@dataclass
class Reports:
    """The reports of the workers on one generation, at one moment."""

    ranks: dict[int, str] = field(default_factory=dict)
    ready: dict[int, Member] = field(default_factory=dict)
    exits: dict[int, Exit] = field(default_factory=dict)
    first: int | None = None
    page: str = ""


def encode(message: Plan | Member | Membership | Exit | Stop) -> str:
    """The JSON text of a message."""
    return json.dumps(asdict(message))


def decode_plan(text: str) -> Plan:
    """The plan in a JSON text."""
    value = json.loads(text)
    roles = tuple(Group(**{**each, "command": tuple(each["command"])}) for each in value["roles"])
    return Plan(**{**value, "command": tuple(value["command"]), "roles": roles})


@lru_cache(4)
def decode_membership(text: str) -> Membership:
    """The membership in a JSON text."""
    value = json.loads(text)
    members = tuple(Member(**member) for member in value["members"])
    sidecar = value["sidecar"] and Member(**value["sidecar"])
    return Membership(**{**value, "members": members, "sidecar": sidecar})


@lru_cache(_REMEMBERED)
def _member(text: str) -> Member:
    return Member(**json.loads(text))


@lru_cache(_REMEMBERED)
def _exit(text: str) -> Exit:
    return Exit(**json.loads(text))


def read_orders(keys: Mapping[str, str], scope: Scope = GANG) -> Orders:
    """The orders of the current generation among the keys of a scope."""
    over = scope.order("outcome") in keys
    number = keys.get(scope.order("generation"))
    if number is None:
        return Orders(over=over)
    generation = int(number)
    membership = keys.get(scope.order("membership", generation))
    end = keys.get(scope.order("end", generation))
    return Orders(
        generation=generation,
        membership=decode_membership(membership) if membership else None,
        end=float(end) if end else None,
        over=over,
    )


def read_reports(keys: Mapping[str, str], generation: int, scope: Scope = GANG) -> Reports:
    """The reports on a generation among the keys of a scope."""
    reports, below = Reports(), scope.report("")
    for key, text in keys.items():
        if not key.startswith(below):
            continue
        match key.removeprefix(below).split("/"):
            case ["rank", rank]:
                reports.ranks[int(rank)] = text
            case ["ready", of, rank] if int(of) == generation:
                reports.ready[int(rank)] = _member(text)
            case ["exit", of, rank] if int(of) == generation:
                reports.exits[int(rank)] = _exit(text)
            case ["first", of] if int(of) == generation:
                reports.first = int(text)
            case ["page", of, _] if int(of) == generation:
                reports.page = text
    return reports
