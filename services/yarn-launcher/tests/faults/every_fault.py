"""What can happen to a gang, and what must become of it. The table is the test.

`uv run noxfile.py -s faults -- --count 3` plays it, three times over, on a real HDFS and YARN: no
file here is named like a test, since that takes most of an hour.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import launcher_on_yarn as helpers
import pytest
from fault_harness import Gang, Harness, Times, YarnHarness, alive, kill, parent
from small_disks import small_disks

FINISHED = ("finished", "")

Play = Callable[[Any, str], Times]


@dataclass(frozen=True)
class Fault:
    """A row.

    Args:
        name: of the case.
        must: what must happen, a sentence.
        play: does it, and sees whether it is so; from where gangs run and a name for a run.
        on: where.
    """

    name: str
    must: str
    play: Play
    on: str = "yarn"


def restarted(
    hit: Callable[[Gang], tuple[int, ...]],
    because: str,
    *,
    keeps: tuple[int, ...] = (),
    options: tuple[str, ...] = (),
) -> Play:
    """A gang is hit, and goes on in its second attempt.

    Args:
        hit: does it; the processes of the gang that it ends by itself.
        because: what the record says of the first attempt.
        keeps: ranks whose worker is the same in both attempts.
        options: of `run`.
    """

    def play(harness: Any, name: str) -> Times:
        gang = harness.gang(name, options=options)
        gang.until_it_holds()
        since = time.monotonic()
        gang.watch(since, victims=hit(gang))
        gang.well()
        first, second = gang.attempts()
        assert "failed" == first[0]
        assert because in first[1]
        assert FINISHED == second
        for rank in range(2):
            same = gang.member(rank, 1)["agent"] == gang.member(rank, 2)["agent"]
            assert (rank in keeps) == same
        links = [line["step"] for line in gang.lines(0, 2) if "step" in line]
        assert harness.resumes_after < links[0]  # from its checkpoint
        return gang.times

    return play


def process(rank: int, number: signal.Signals) -> Callable[[Gang], tuple[int, ...]]:
    """A signal for what a worker runs."""

    def hit(gang: Gang) -> tuple[int, ...]:
        return _signal(gang, gang.member(rank)["pid"], number, gang.member(rank)["pid"])

    return hit


def agent(rank: int, number: signal.Signals) -> Callable[[Gang], tuple[int, ...]]:
    """A signal for a worker itself."""

    def hit(gang: Gang) -> tuple[int, ...]:
        return _signal(gang, gang.member(rank)["agent"], number, gang.member(rank)["pid"])

    return hit


def container(rank: int, number: signal.Signals) -> Callable[[Gang], tuple[int, ...]]:
    """A signal for what YARN has started."""

    def hit(gang: Gang) -> tuple[int, ...]:
        guard = parent(gang.member(rank)["agent"])
        return _signal(gang, guard, number, gang.member(rank)["pid"])

    return hit


def _signal(gang: Gang, pid: int, number: signal.Signals, victim: int) -> tuple[int, ...]:
    if number == signal.SIGSTOP:
        gang.freeze(pid)
    else:
        kill(pid)
    return (victim,)


def at_the_node(
    daemons: Callable[[YarnHarness, str], AbstractContextManager[None]], because: str
) -> Play:
    """Something happens to the NodeManager of a worker that is not on the master's node."""

    def play(harness: YarnHarness, name: str) -> Times:
        with harness.yarn.cluster.with_memory(helpers.NO_ROOM_FOR_ALL_MB):
            gang = harness.gang(name)
            gang.until_it_holds()
        nodes = [gang.member(rank)["node"] for rank in range(2)]
        rank = next(rank for rank in range(2) if nodes[rank] != harness.host_of_master())
        with daemons(harness, harness.manager_of(nodes[rank])):
            gang.watch(time.monotonic(), victims=(gang.member(rank)["pid"],))
            gang.well()
        first, second = gang.attempts()
        assert because.format(node=nodes[rank]) in first[1]
        assert FINISHED == second
        return gang.times

    return play


def undisturbed(harness: Any, name: str) -> Times:
    """Nothing happens."""
    gang = harness.gang(name)
    gang.until_it_holds()
    gang.go()
    gang.well()
    assert [FINISHED] == gang.attempts()
    return gang.times


def without_its_client(harness: YarnHarness, name: str) -> Times:
    """The client is killed, and the same command is given again."""
    gang = harness.gang(name)
    gang.until_it_holds()
    gang.process.kill()
    gang.process.communicate()
    gang.again()
    gang.go()
    gang.well()
    assert [FINISHED] == gang.attempts()[:1]
    return gang.times


def with_a_frozen_client(harness: YarnHarness, name: str) -> Times:
    """The client is stopped until the run is over."""
    gang = harness.gang(name)
    gang.until_it_holds()
    gang.process.send_signal(signal.SIGSTOP)
    gang.go()
    gang.until(lambda: harness.status(name).get("state") == "finished", "the run is over")
    gang.process.send_signal(signal.SIGCONT)
    gang.well()
    assert [FINISHED] == gang.attempts()
    return gang.times


def without_its_driver(number: signal.Signals) -> Play:
    """The JVM by which the client reaches the cluster."""

    def play(harness: YarnHarness, name: str) -> Times:
        gang = harness.gang(name)
        gang.until_it_holds()
        (driver,) = [
            pid for pid in harness.java("skein.Driver") if gang.process.pid in ancestors(pid)
        ]
        gang.freeze(driver) if number == signal.SIGSTOP else kill(driver)
        gang.go()
        gang.well()
        assert [FINISHED] == gang.attempts()
        return gang.times

    return play


def ancestors(pid: int) -> list[int]:
    """The processes that a process comes from."""
    found = [pid]
    while found[-1] > 1:
        found.append(parent(found[-1]))
    return found


def without_its_launcher(harness: Harness, name: str) -> Times:
    """The local launcher is killed, and with it all that it started; the next one goes on."""
    gang = harness.gang(name)
    gang.until_it_holds()
    pids = [gang.member(rank)[which] for rank in range(2) for which in ("pid", "agent")]
    since = time.monotonic()
    gang.process.kill()
    gang.process.communicate()
    while any(map(alive, pids)):
        time.sleep(0.01)
    gang.times.noticed = time.monotonic() - since
    gang.again()
    gang.watch(since)
    gang.well()
    (outcome, _), second = gang.attempts()
    assert ("failed", FINISHED) == (outcome, second)
    return gang.times


def over_its_memory(harness: YarnHarness, name: str) -> Times:
    """A worker takes more than its container has."""
    gang = harness.gang(name, "1.1:eat=600")
    gang.until(lambda: gang.member(0) and gang.member(1), "it eats")
    gang.watch(gang.member(1)["at"], victims=(gang.member(1)["pid"],))
    gang.well()
    (outcome, why), second = gang.attempts()
    assert ("failed", FINISHED) == (outcome, second)
    assert "was killed for memory" in why
    assert "--memory" in why
    return gang.times


def stolen(harness: Any, name: str) -> Times:
    """A stranger listens at the chief's address before it does."""
    gang = harness.gang(name, "0.1:steal")
    gang.until(lambda: gang.member(0) and gang.member(1), "it is stolen")
    gang.watch(gang.member(0)["at"], victims=(gang.member(0)["pid"],))
    gang.well()
    assert ["failed", "finished"] == [each[0] for each in gang.attempts()]
    before, after = (set(gang.member(0, attempt)["addresses"]) for attempt in (1, 2))
    assert set() == before & after
    return gang.times


def never_comes(harness: YarnHarness, name: str) -> Times:
    """A container runs, and its worker never says that it is there."""
    gang = harness.gang(name, options=("--timeout-registration=25",))
    straggler = gang.until(lambda: _last_worker(harness), "both workers have containers")
    since = time.monotonic()
    gang.freeze(straggler)
    code, _, err = gang.finish()
    gang.times.noticed = time.monotonic() - since
    assert 75 == code, err
    assert "1 of 2 workers registered" in err
    assert "worker_1" in err
    return gang.times


def _last_worker(harness: YarnHarness) -> int | None:
    """The second container's worker, as soon as it is there."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        ours = harness.yarn.cluster.folder.encode() in variables
        if ours and b"SKEIN_CONTAINER_ID=worker_1" in variables and b"--guarded" in command:
            return int(entry.name)
    return None


def queue_too_small(harness: YarnHarness, name: str) -> Times:
    """A queue that has room for the coordinator and one worker, and will never have more."""
    options = ("--queue=small", "--memory=1024 MiB", "--timeout-allocation=30")
    gang = harness.gang(name, options=options)
    since = time.monotonic()
    code, _, err = gang.finish()
    gang.times.noticed = time.monotonic() - since
    assert 75 == code, err
    assert "not all of 2 workers got a container within 30 s" in err
    assert "worker_1: no container yet: 1 more of 1024 MiB, 1 vcores: queue small may have" in err
    return gang.times


def two_that_over_fill(harness: YarnHarness, name: str) -> Times:
    """Each of two runs gets half of what it needs, and neither could ever begin."""
    options = ("--memory=5 GiB", "--timeout-allocation=40")
    both = [harness.gang(f"{name}-{which}", options=options) for which in "ab"]
    for gang in both:
        gang.go()
    since = time.monotonic()
    codes = [gang.finish()[0] for gang in both]
    both[0].times.noticed = time.monotonic() - since
    assert {0, 75} >= set(codes)
    for gang, code in zip(both, codes, strict=True):
        if code == 75:
            gang.again()
            gang.well()
        gang.same_result()
    return both[0].times


def damaged(harness: YarnHarness, name: str) -> Times:
    """An archive of which the second half is missing."""
    archive = harness.folder / f"{name}.tar.gz"
    archive.write_bytes(b"\x1f\x8b\x08\x00" + b"no archive at all" * 4096)
    since = time.monotonic()
    gang = harness.gang(name, options=(f"--environment={archive}",))
    code, _, err = gang.finish()
    gang.times.noticed = time.monotonic() - since
    assert code in (65, 78), err
    assert str(archive) in err or "archive" in err
    assert len(gang.attempts()) <= 1
    return gang.times


def with_a_wrong_clock(seconds: int) -> Play:
    """The clock of one worker is wrong: of its agent's, and of what that runs."""

    def play(harness: YarnHarness, name: str) -> Times:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler here, by which a clock is set wrong")
        library = harness.folder / f"{name}.so"
        source = Path(__file__).with_name("wrong_clock.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        gang = harness.gang(
            name,
            options=(
                f"--env=LD_PRELOAD={library}",
                f"--env=WRONG_CLOCK_S={seconds}",
                "--env=WRONG_CLOCK_OF=worker_1",
            ),
        )
        gang.until_it_holds()
        clocks = [gang.member(rank)["clock"] for rank in range(2)]
        assert abs(abs(clocks[0] - clocks[1]) - abs(seconds)) < 60  # it is wrong
        since = time.monotonic()
        gang.watch(since, victims=process(1, KILL)(gang))
        gang.well()
        assert ["failed", "finished"] == [each[0] for each in gang.attempts()]
        return gang.times

    return play


def without_its_master(number: signal.Signals) -> Play:
    """The application master, with its coordinator; YARN starts another one."""

    def play(harness: YarnHarness, name: str) -> Times:
        gang = harness.gang(name)
        gang.until_it_holds()
        application, master = harness.application(), harness.master()
        since = time.monotonic()
        gang.freeze(master) if number == signal.SIGSTOP else kill(master)
        gang.watch(since)
        assert application == harness.application()
        gang.well()
        (outcome, _), second = gang.attempts()
        assert ("failed", FINISHED) == (outcome, second)
        return gang.times

    return play


def disks_full(harness: YarnHarness, name: str) -> Times:
    """The disks of all nodes are full while the gang works, until somebody makes room."""
    with small_disks(harness.yarn.cluster) as disks:
        gang = harness.gang(name, options=("--max-restarts=5",))
        gang.until_it_holds()
        since = time.monotonic()
        disks.fill()
        gang.go()
        gang.until(lambda: not alive(gang.member(0)["pid"]), "it finds no room")
        gang.times.noticed = time.monotonic() - since
        gang.until(lambda: len(gang.attempts()) > 1, "the end of the first attempt is told")
        disks.free()
        gang.watch(since)
        gang.well()
        assert FINISHED == gang.attempts()[-1]
        assert "the disk of its log is full" in gang.attempts()[0][1]
        harness.close()
    return gang.times


def no_room(harness: YarnHarness, name: str) -> Times:
    """The run folder's quota is used up while the gang works, until somebody makes room."""
    gang = harness.gang(name, options=("--max-restarts=5",))
    gang.until_it_holds()
    since = time.monotonic()
    with harness.quota(f"{harness.where(name)}/chain", 1):
        gang.go()
        gang.until(lambda: not alive(gang.member(0)["pid"]), "it finds no room")
        gang.times.noticed = time.monotonic() - since
    gang.watch(since)
    gang.well()
    assert FINISHED == gang.attempts()[-1]
    return gang.times


KILL, STOP = signal.SIGKILL, signal.SIGSTOP
KILLED = "the process of worker {} was killed by SIGKILL"
STOPPED = "the process of worker {} was stopped (SIGSTOP)"

BOTH = [
    (
        "nothing",
        "a run that is left alone finishes in one attempt, with the result of the program",
        undisturbed,
    ),
    (
        "process-killed",
        "survivors and the worker keep their places, the process is started anew and goes on",
        restarted(process(1, KILL), KILLED.format(1), keeps=(0, 1)),
    ),
    (
        "chief-killed",
        "as any other process: the chief is none of the launcher's business",
        restarted(process(0, KILL), KILLED.format(0), keeps=(0, 1)),
    ),
    (
        "agent-killed",
        "its process goes with it, another worker takes the rank, the survivor stays",
        restarted(agent(1, KILL), "worker 1 was lost", keeps=(0,)),
    ),
    (
        "process-frozen",
        "it is ended before its peer gives it up, the workers stay and the gang goes on",
        restarted(process(1, STOP), STOPPED.format(1), keeps=(0, 1)),
    ),
    (
        "chief-frozen",
        "as any other process",
        restarted(process(0, STOP), STOPPED.format(0), keeps=(0, 1)),
    ),
    (
        "agent-frozen",
        "a worker that says nothing is taken for lost, its rank is taken by another one",
        restarted(agent(1, STOP), "worker 1", keeps=(0,)),
    ),
    (
        "port-stolen",
        "a stranger at the address costs an attempt; the next one has another address",
        stolen,
    ),
]
CONTAINER_KILLED = (
    "container-killed",
    "another container is asked for, the survivor stays",
    restarted(container(1, KILL), "was lost: its container on", keeps=(0,)),
)
MASTER_KILLED = (
    "master-killed",
    "YARN starts another one, which goes on with the run and with new workers",
    without_its_master(KILL),
)
TRAINED = [
    *(row for row in BOTH if row[0] in ("process-killed", "process-frozen")),
    CONTAINER_KILLED,
    MASTER_KILLED,
]
"""What two trainers have to survive too, and train the same weights as if nothing had been."""
FAULTS = [
    *(Fault(f"local-{name}", must, play, "local") for name, must, play in BOTH),
    Fault(
        "local-launcher-killed",
        "nothing outlives it, and the next one says what happened and goes on",
        without_its_launcher,
        "local",
    ),
    *(Fault(*row) for row in BOTH),
    Fault(*CONTAINER_KILLED),
    Fault(
        "memory",
        "the container is ended by its node, the record says why and what to ask for",
        over_its_memory,
    ),
    Fault(
        "node-killed",
        "the worker is made good on another node, what it still does there does not count",
        at_the_node(lambda it, each: it.yarn.cluster.without(each), "its node {node} was"),
    ),
    Fault(
        "node-frozen",
        "as if it were dead, and when it wakes up nothing of the run is left there",
        at_the_node(lambda harness, each: harness.yarn.cluster.frozen(each), "its node {node} was"),
    ),
    Fault("client-killed", "the run goes on, the same command answers for it", without_its_client),
    Fault("client-frozen", "the run goes on, and is told when it wakes", with_a_frozen_client),
    Fault(
        "straggler",
        "after the time limit the run ends with 75 and names the worker that has said nothing",
        never_comes,
    ),
    Fault(
        "queue-too-small",
        "after the time limit the run ends with 75 and says that there was no container",
        queue_too_small,
    ),
    Fault(
        "over-filled",
        "two runs that hold what the other needs do not wait for ever; later both have finished",
        two_that_over_fill,
    ),
    Fault(
        "disk-full",
        "on every node: the program fails, the record says why, and it is started anew until there"
        " is room",
        disks_full,
    ),
    Fault(
        "quota-used-up",
        "of the run folder: the program fails and is started anew until there is room",
        no_room,
    ),
    Fault(
        "driver-killed",
        "the client comes back to its application and answers for it",
        without_its_driver(KILL),
    ),
    Fault(
        "driver-frozen",
        "the client comes back to its application and answers for it",
        without_its_driver(STOP),
    ),
    Fault(
        "clock-ahead",
        "by an hour, of one worker: nothing is decided by clocks of nodes",
        with_a_wrong_clock(3600),
    ),
    Fault(
        "clock-behind",
        "the same the other way",
        with_a_wrong_clock(-3600),
    ),
    Fault(*MASTER_KILLED),
    *(Fault(f"trainer-{name}", must, play, "trainer") for name, must, play in TRAINED),
    Fault(
        "master-frozen",
        "the same, once YARN gives it up",
        without_its_master(STOP),
    ),
    Fault(
        "archive-damaged",
        "it is told as what it is, and not tried again",
        damaged,
    ),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    count = metafunc.config.getoption("--count")
    rows = [
        pytest.param(fault, turn, id=fault.name if count == 1 else f"{fault.name}-{turn}")
        for turn in range(1, count + 1)
        for fault in FAULTS
    ]
    metafunc.parametrize(("fault", "turn"), rows)


def test_it_goes_on_as_it_must(
    fault: Fault, turn: int, request: pytest.FixtureRequest, figures: Any
) -> None:
    """Each row, and after it nothing is left."""
    harness = request.getfixturevalue(f"on_{fault.on}")
    since = time.monotonic()
    with ExitStack() as stack:
        stack.callback(harness.clear)
        times = fault.play(harness, f"{fault.name}-{turn}")
        harness.close()
    figures.append((fault.name, time.monotonic() - since, astuple(times)))
