"""Gangs that make the chain, and what is done to them and seen of them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chained_steps as chain
import launcher_on_yarn as helpers

WORKERS = 2
PATIENCE_S = 240
LOOK_EVERY_S = 0.02


@dataclass
class Times:
    """Seconds from a fault.

    Args:
        noticed: until the first of the others was ended.
        started: until all processes of the attempt that went on were started.
        goes_on: until that made a link.
    """

    noticed: float | None = None
    started: float | None = None
    goes_on: float | None = None


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not reaped does not."""
    return state(pid) not in ("", "Z", "X", "x")


def state(pid: int) -> str:
    """How the kernel calls the state of a process; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def command(pid: int) -> str:
    """The command line of a process; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def parent(pid: int) -> int:
    """The process that started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@dataclass
class Gang:
    """A run of the chain.

    Args:
        harness: where it runs.
        name: of the run.
        options: of `run`.
        parts: what its processes are asked to do.
        process: who waits for it.
        times: of what was done to it.
    """

    harness: "Harness"
    name: str
    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    process: subprocess.Popen[str] = field(init=False)
    times: Times = field(default_factory=Times)
    frozen: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.notes.mkdir(exist_ok=True)
        self.process = self.harness.start(self)

    @property
    def notes(self) -> Path:
        """Where its processes write."""
        return self.harness.folder / self.name

    def again(self) -> None:
        """Start the same command once more."""
        self.process = self.harness.start(self)

    def go(self) -> None:
        """Let the first attempt go on past `HOLD`."""
        (self.notes / "go").touch()

    def lines(self, rank: int, attempt: int) -> list[dict[str, Any]]:
        """What a process has noted, as far as it is whole."""
        path = self.notes / f"{rank}.{attempt}.jsonl"
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def member(self, rank: int, attempt: int = 1) -> dict[str, Any]:
        """Who a process said that it is."""
        found = self.lines(rank, attempt)
        return found[0] if found else {}

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait for something, unless the launcher ends; its value."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: waited {PATIENCE_S} s in vain: {what}")
            if self.process.poll() is not None and self.process.returncode >= 0:
                code, _, err = self.finish()
                raise AssertionError(f"{self.name}: ended with {code} before {what}:\n{err}")
            time.sleep(LOOK_EVERY_S)
        return value

    def until_it_holds(self) -> None:
        """Wait until the first attempt has come to `HOLD`."""
        self.until((self.notes / "holds").exists, "the gang is at work")

    def freeze(self, *pids: int) -> None:
        """SIGSTOP; what is left of them at the end of the case is killed."""
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            self.frozen.append(pid)

    def next_link(self) -> tuple[float, int] | None:
        """When an attempt after the first made its first link, and which one that was."""
        attempts = sorted(int(path.name.split(".")[1]) for path in self.notes.glob("0.*.jsonl"))
        return next(
            (
                (line["at"], attempt)
                for attempt in attempts
                if attempt > 1
                for line in self.lines(0, attempt)
                if "step" in line
            ),
            None,
        )

    def watch(self, since: float, *, victims: tuple[int, ...] = ()) -> None:
        """Wait until a later attempt makes a link, and note the times."""
        pids = {self.member(rank)["pid"] for rank in range(WORKERS)} - set(victims)

        def look() -> tuple[float, int] | None:
            if self.times.noticed is None and not all(map(alive, pids)):
                self.times.noticed = time.monotonic() - since
            return self.next_link()

        at, attempt = self.until(look, "it goes on")
        starts = [self.member(rank, attempt)["at"] for rank in range(WORKERS)]
        self.times.started, self.times.goes_on = max(starts) - since, at - since

    def finish(self) -> tuple[int, str, str]:
        """Wait for the end of who waits: exit code, stdout, stderr."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.strip(), err

    def well(self) -> None:
        """It ends as if nothing had been."""
        code, out, err = self.finish()
        assert 0 == code, err
        assert [self.harness.answer(self.name)] == out.splitlines()[-1:], err
        self.same_result()

    def same_result(self) -> None:
        """The result is that of the undisturbed run."""
        assert self.harness.undisturbed() == self.harness.result(self.name)

    def attempts(self) -> list[tuple[str, str]]:
        """How each attempt ended, and why."""
        found = self.harness.status(self.name).get("attempts", [])
        return [(each["outcome"], each["cause"] or "") for each in found]


@dataclass
class Harness:
    """Where gangs run: this machine.

    Args:
        folder: everything that is written by them.
        gangs: of the case.
    """

    folder: Path
    gangs: list[Gang] = field(default_factory=list)
    resumes_after = chain.HOLD
    """A step that an attempt does not begin before which comes after one that was hit."""

    def start(self, gang: Gang) -> subprocess.Popen[str]:
        """Start the launcher of a gang."""
        program = [
            sys.executable,
            str(Path(chain.__file__)),
            str(gang.notes),
            "-",
            *gang.parts,
        ]
        return self.launcher(
            *("run", f"--workers={WORKERS}", f"--root={self.folder / 'root'}"),
            *(f"--name={gang.name}", *gang.options, "--", *program),
        )

    def launcher(self, *words: str) -> subprocess.Popen[str]:
        """Start the launcher with these words."""
        return subprocess.Popen(
            [sys.executable, "-m", "audioloom_yarn_launcher", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.variables,
        )

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a launcher."""
        return dict(os.environ)

    def gang(self, name: str, *parts: str, options: tuple[str, ...] = ()) -> Gang:
        """Begin a run."""
        gang = Gang(self, name, options, parts)
        self.gangs.append(gang)
        return gang

    def where(self, name: str) -> str:
        """The folder of a run."""
        return str(self.folder / "root/runs" / name)

    def answer(self, name: str) -> str:
        """What the launcher prints of a run that ended well."""
        return self.where(name)

    def undisturbed(self) -> dict[str, Any]:
        """The result of a run to which nothing happens."""
        return chain.undisturbed(WORKERS)

    def result(self, name: str) -> dict[str, Any]:
        """The result of a run."""
        return chain.Disk(self.where(name)).read("result")

    def status(self, name: str) -> dict[str, Any]:
        """What `status --json` says; {} if there is no such run yet."""
        out, err = (process := self.launcher("status", "--json", self.where(name))).communicate()
        assert process.returncode in (0, 66), err
        found: dict[str, Any] = json.loads(out) if process.returncode == 0 else {}
        return found

    def left(self) -> list[str]:
        """What of the gangs still runs."""
        return [
            path.name
            for gang in self.gangs
            for path in gang.notes.glob("*.jsonl")
            for each in gang.lines(*map(int, path.name.split(".")[:2]))[:1]
            if alive(each["pid"]) or alive(each["agent"])
        ]

    def close(self) -> None:
        """See that nothing is left, but what was frozen."""
        for gang in self.gangs:
            for pid in gang.frozen:
                if state(pid) == "T":
                    kill(pid)
        helpers.until(lambda: not self.left(), "all processes have ended")

    def clear(self) -> None:
        """End what a case that failed has left."""
        for gang in self.gangs:
            gang.process.kill()
            gang.process.communicate()
        self.end_all()
        self.gangs.clear()

    def end_all(self) -> None:
        """End what the gangs have started."""
        for gang in self.gangs:
            for path in gang.notes.glob("*.jsonl"):
                for each in gang.lines(*map(int, path.name.split(".")[:2]))[:1]:
                    if "chained_steps.py" in command(each["pid"]):  # and not another one by now
                        kill(each["pid"])


@dataclass
class YarnHarness(Harness):
    """Where gangs run: a cluster."""

    yarn: helpers.OnCluster = field(kw_only=True)

    def start(self, gang: Gang) -> subprocess.Popen[str]:
        """Start the client of a gang."""
        page = self.yarn.cluster.pages["hdfs"]
        words = (f"--root={self.yarn.root}", f"--name={gang.name}", f"--files={chain.__file__}")
        program = ("python3", "chained_steps.py", str(gang.notes), page, *gang.parts)
        return self.launcher(
            *("run", "--on=yarn", f"--workers={WORKERS}", "--memory=256 MiB"),
            *(*words, *gang.options, "--", *program),
        )

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a client."""
        return self.yarn.variables

    def where(self, name: str) -> str:
        """The folder of a run."""
        return self.yarn.where(name)

    def result(self, name: str) -> dict[str, Any]:
        """The result of a run."""
        return chain.Hdfs(self.where(name), self.yarn.cluster.pages["hdfs"]).read("result")

    def left(self) -> list[str]:
        """What of the gangs still runs."""
        return [*self.yarn.cluster.applications(), *helpers.processes(self.yarn.cluster)]

    def end_all(self) -> None:
        """End what is left on the cluster."""
        self.yarn.close()
        for each in helpers.processes(self.yarn.cluster):
            kill(int(each.split()[0]))

    def application(self) -> str:
        """The one application that lives."""
        (found,) = self.yarn.cluster.applications()
        return found

    def java(self, name: str) -> list[int]:
        """The processes of a main class of skein."""
        found = [each.split()[:2] for each in helpers.processes(self.yarn.cluster) if name in each]
        return [int(pid) for pid, program in found if program.endswith("/java")]

    def master(self) -> int:
        """The application master of the one application that lives."""
        (found,) = self.java("skein.ApplicationMaster")
        return found

    def host_of_master(self) -> str:
        """The node that it runs on."""
        found = self.yarn.cluster.ask(f"/ws/v1/cluster/apps/{self.application()}")["app"]
        return str(found["amHostHttpAddress"]).rpartition(":")[0]

    def manager_of(self, host: str) -> str:
        """The name of a node's NodeManager."""
        return f"nodemanager-{self.yarn.cluster.nodes.index(host) + 1}"

    @contextmanager
    def quota(self, path: str, size: int) -> Iterator[None]:
        """Until the block ends, no more than so many bytes fit below a folder of HDFS."""
        self.hdfs("dfsadmin", "-setSpaceQuota", str(size), path)
        try:
            yield
        finally:
            self.hdfs("dfsadmin", "-clrSpaceQuota", path)

    def hdfs(self, *words: str) -> None:
        """A command of Hadoop's own."""
        command = ["hdfs", *words]
        subprocess.run(command, env=self.variables, check=True, capture_output=True)


def kill(pid: int) -> None:
    """SIGKILL, if there is anybody."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
