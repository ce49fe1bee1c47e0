"""What the coordinator and the workers of a gang tell each other, and under which keys.

Orders, which only the coordinator writes and every worker watches:

    gang/order/plan              what to run: `Plan`
    gang/order/generation        how many times the gang has been started anew, from 0
    gang/order/roster/<g>        who runs in generation g, frozen: `Roster`
    gang/order/end/<g>           generation g is over, stop: `End`
    gang/order/outcome           the run is over, leave

Reports, which the workers write and only the coordinator watches:

    gang/worker/rank/<r>         id of the worker that holds rank r; owned by it
    gang/worker/ready/<g>/<r>    it holds a port for generation g: `Member`; owned by it
    gang/worker/exit/<g>/<r>     how its process ended: `Exit`
    gang/worker/first/<g>        rank of the first process that failed by itself

Beats, which are read now and then and wake nobody:

    gang/beat/<id>               how often a worker has said that it lives; owned by it

Requests of clients, which only the coordinator watches:

    gang/client/stop             end the run: `Stop`

So a worker's report wakes the coordinator alone, whatever the size of the gang.

Who is beside the gang hears and says the same below `beside/<r>/`, each rank for itself, and counts
its own generations; only ranks are all claimed in one place. It says one thing more:

    beside/<r>/worker/page/<g>/<r>   where the page of its process is to be seen

and its beats are below `beside-beat/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from audioloom_yarn_launcher.rendezvous.roles import WORKER as A_WORKER
from audioloom_yarn_launcher.rendezvous.roles import Group, Policy, of_the_gang, policy, size_of

GANG, BESIDE = "gang/", "beside/"
ORDER = f"{GANG}order/"
WORKER = f"{GANG}worker/"
BEAT, BEAT_BESIDE = f"{GANG}beat/", "beside-beat/"
FROZEN_S = 10.0
PLAN = f"{ORDER}plan"
RANKS = f"{WORKER}rank/"
CLIENT = f"{GANG}client/"
STOP_KEY = f"{CLIENT}stop"

_REMEMBERED = 1 << 15
"""Whoever looks reads all messages again, most of them as before; of the largest gangs, too."""


def scope_beside(rank: int) -> str:
    """Below which one beside the gang hears and says everything."""
    return f"{BESIDE}{rank}/"


def generation_key(scope: str = GANG) -> str:
    """Where the number of the generation stands."""
    return f"{scope}order/generation"


def outcome_key(scope: str = GANG) -> str:
    """Where it is ordered to leave."""
    return f"{scope}order/outcome"


GENERATION, OUTCOME = generation_key(), outcome_key()


def roster_key(generation: int, scope: str = GANG) -> str:
    """Where the roster of a generation stands."""
    return f"{scope}order/roster/{generation}"


def end_key(generation: int, scope: str = GANG) -> str:
    """Where the end of a generation is ordered."""
    return f"{scope}order/end/{generation}"


def rank_key(rank: int) -> str:
    """Where a worker claims its rank."""
    return f"{RANKS}{rank}"


def ready_key(generation: int, rank: int, scope: str = GANG) -> str:
    """Where a worker says that it holds a port."""
    return f"{scope}worker/ready/{generation}/{rank}"


def exit_key(generation: int, rank: int, scope: str = GANG) -> str:
    """Where a worker says how its process ended."""
    return f"{scope}worker/exit/{generation}/{rank}"


def page_key(generation: int, rank: int, scope: str) -> str:
    """Where a worker beside the gang says that the page of its process answers."""
    return f"{scope}worker/page/{generation}/{rank}"


def first_key(generation: int, scope: str = GANG) -> str:
    """Where the first failure of a generation is claimed."""
    return f"{scope}worker/first/{generation}"


def beat_key(worker: str, *, beside: bool = False) -> str:
    """Where a worker says that it lives."""
    return f"{BEAT_BESIDE if beside else BEAT}{worker}"


@dataclass(frozen=True)
class Plan:
    """What every worker runs.

    Args:
        size: how many workers there are in all; ranks go from 0 to size - 1.
        command: the program and its arguments, of those whose role has none of its own; with
            secrets masked, which workers have beside.
        folder: URI of the run folder.
        marker: put into the environment of all that the command starts, so that it can be found.
        roles: who is called what, in the order of ranks; all are workers if it says nothing.
        frozen_s: after how many seconds a worker that says nothing is taken for frozen, and, after
            half as many, a process that is stopped.
    """

    size: int
    command: tuple[str, ...]
    folder: str
    marker: str
    roles: tuple[Group, ...] = ()
    frozen_s: float = FROZEN_S

    @property
    def groups(self) -> tuple[Group, ...]:
        """Who is called what."""
        return self.roles or (Group(A_WORKER, self.size),)

    @property
    def gang_size(self) -> int:
        """How many meet as one; the ranks of the others come after theirs."""
        return size_of(of_the_gang(self.groups))

    @property
    def policy(self) -> Policy:
        """Who decides how a generation ends."""
        return policy(self.groups)


@dataclass(frozen=True)
class Member:
    """A worker that is ready: its address is bound and kept until its process has ended.

    Args:
        exposed: why its command may listen at other addresses too; "" if it cannot.
    """

    id: str
    address: str
    host: str
    pid: int
    exposed: str = ""


@dataclass(frozen=True)
class Roster:
    """Who runs in a generation, by rank.

    Args:
        attempt: of the gang.
        generation: of the gang.
        members: of the gang.
        beside: who is told, if it is one beside the gang.
        again: that one had a process before in this attempt.
    """

    attempt: int
    generation: int
    members: tuple[Member, ...]
    beside: Member | None = None
    again: bool = False

    def of(self, rank: int) -> Member | None:
        """Who runs as this rank."""
        return self.members[rank] if rank < len(self.members) else self.beside


@dataclass(frozen=True)
class End:
    """A generation is over: processes get SIGTERM and *grace_s* seconds, then SIGKILL."""

    grace_s: float


@dataclass(frozen=True)
class Exit:
    """How a worker's process ended.

    Args:
        id: the worker.
        code: exit code; negative for a signal, as in `subprocess`; None if it was never started.
        stopped: the worker ended it, because it was told to.
        pid: of the process, None if it was never started.
        started: when, RFC 3339 by the worker's clock.
        ended: when.
        tail: the last lines of its output.
        why: what the worker knows of it that the code does not say, to go on with a subject.
    """

    id: str
    code: int | None
    stopped: bool
    pid: int | None = None
    started: str | None = None
    ended: str | None = None
    tail: str = ""
    why: str = ""

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, and not well."""
        return not self.stopped and self.code != 0


@dataclass(frozen=True)
class Stop:
    """A client asks to end the run.

    Args:
        signal: which signal the client got; SIGTERM for `kill`.
        times: how often; at the second time nobody waits for processes to end by themselves.
    """

    signal: int
    times: int = 1


@dataclass(frozen=True)
class Orders:
    """What a worker has been told, at one moment."""

    generation: int | None = None
    roster: Roster | None = None
    end: End | None = None
    over: bool = False


@dataclass(frozen=True)
class Reports:
    """What the workers have told about one generation, at one moment."""

    ranks: Mapping[int, str] = field(default_factory=dict)
    ready: Mapping[int, Member] = field(default_factory=dict)
    exits: Mapping[int, Exit] = field(default_factory=dict)
    first: int | None = None
    page: str = ""


def encode(message: Plan | Member | Roster | End | Exit | Stop) -> str:
    """The JSON text of a message."""
    return json.dumps(asdict(message))


def decode_plan(text: str) -> Plan:
    """The plan in a JSON text."""
    value = json.loads(text)
    roles = tuple(Group(**{**each, "command": tuple(each["command"])}) for each in value["roles"])
    return Plan(**{**value, "command": tuple(value["command"]), "roles": roles})


@lru_cache(4)
def decode_roster(text: str) -> Roster:
    """The roster in a JSON text."""
    value = json.loads(text)
    members = tuple(Member(**member) for member in value["members"])
    beside = value["beside"] and Member(**value["beside"])
    return Roster(**{**value, "members": members, "beside": beside})


@lru_cache(_REMEMBERED)
def decode_member(text: str) -> Member:
    """The member in a JSON text."""
    return Member(**json.loads(text))


@lru_cache(_REMEMBERED)
def decode_exit(text: str) -> Exit:
    """The end of a process in a JSON text."""
    return Exit(**json.loads(text))


def decode_stop(text: str) -> Stop:
    """The request in a JSON text."""
    return Stop(**json.loads(text))


def read_orders(keys: Mapping[str, str], scope: str = GANG) -> Orders:
    """The orders among the keys of a scope; those of other generations do not count."""
    over, number = outcome_key(scope) in keys, keys.get(generation_key(scope))
    if number is None:
        return Orders(over=over)
    generation = int(number)
    roster, end = keys.get(roster_key(generation, scope)), keys.get(end_key(generation, scope))
    return Orders(
        generation=generation,
        roster=decode_roster(roster) if roster else None,
        end=End(**json.loads(end)) if end else None,
        over=over,
    )


def read_reports(keys: Mapping[str, str], generation: int, scope: str = GANG) -> Reports:
    """The reports on a generation among the keys of a scope."""
    ranks: dict[int, str] = {}
    ready: dict[int, Member] = {}
    exits: dict[int, Exit] = {}
    first: int | None = None
    page = ""
    below = f"{scope}worker/"
    for key, text in keys.items():
        if not key.startswith(below):
            continue
        match key.removeprefix(below).split("/"):
            case ["rank", rank]:
                ranks[int(rank)] = text
            case ["ready", of, rank] if int(of) == generation:
                ready[int(rank)] = decode_member(text)
            case ["exit", of, rank] if int(of) == generation:
                exits[int(rank)] = decode_exit(text)
            case ["first", of] if int(of) == generation:
                first = int(text)
            case ["page", of, _] if int(of) == generation:
                page = text
    return Reports(ranks, ready, exits, first, page)
