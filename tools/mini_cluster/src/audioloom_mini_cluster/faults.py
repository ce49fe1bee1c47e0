"""What tests do to programs that are at work on a cluster: wait, kill, look for what is left."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from audioloom_mini_cluster.client import Running

PATIENCE_SECONDS = 600  # a machine that does much else besides

_LISTENS = "0A"

Value = TypeVar("Value")


def until(condition: Callable[[], Value], what: str, seconds: float = PATIENCE_SECONDS) -> Value:
    """Wait for something that will come; its value.

    Raises:
        AssertionError: it has not come.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.2)
    return value


def start(cluster: Running, program: Path | str, *words: object) -> subprocess.Popen[str]:
    """Start a program as a client of the cluster; what it prints is kept apart from ours."""
    command = [str(program), *map(str, words)]
    return subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cluster.variables,
    )


def run(cluster: Running, program: Path | str, *words: object) -> str:
    """Run a program as a client of the cluster, which must succeed; what it prints."""
    return ended(start(cluster, program, *words), 0)[0]


def ended(process: subprocess.Popen[str], *codes: int) -> tuple[str, str]:
    """Wait for the end of a program with one of these exit codes; what it printed.

    Raises:
        AssertionError: it ended with another one.
    """
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    if process.returncode not in codes:
        raise AssertionError(f"expected {codes}, found exit code {process.returncode}:\n{err}")
    return out.strip(), err


def kill_an_executor(cluster: Running) -> None:
    """SIGKILL for a JVM that does tasks of the one Spark application that runs."""
    (name,) = cluster.applications()
    os.kill(next(_executors(name.removeprefix("application_"))), signal.SIGKILL)


def _executors(number: str) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            program, _, words = (entry / "cmdline").read_bytes().partition(b"\0")
            wanted = b"CoarseGrainedExecutorBackend" in words and number.encode() in words
            if program.endswith(b"/java") and wanted:
                yield int(entry.name)


def processes_of(folder: str) -> list[str]:
    """The processes that have anything to do with a folder, but for this one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if folder.encode() in said and int(entry.name) != os.getpid():
            found.append(f"{entry.name} {said[:200]!r}")
    return found


def listening(addresses: Iterable[str]) -> list[str]:
    """Those of some addresses (IPv4:port) at which a process of this machine listens."""
    taken = {each for table in ("tcp", "tcp6") for each in _listeners(Path("/proc/net") / table)}
    return [
        address
        for address in addresses
        if not taken.isdisjoint({address, f"0.0.0.0:{address.rpartition(':')[2]}"})
    ]


def _listeners(table: Path) -> Iterator[str]:
    """The sockets of /proc/net/tcp and tcp6, proc(5), that listen; IPv4 in IPv6 as IPv4."""
    for line in table.read_text().splitlines()[1:]:
        local, _, state = line.split()[1:4]
        host, _, port = local.partition(":")
        if state == _LISTENS:
            octets = bytes.fromhex(host)[-4:][::-1]  # each word of it in this machine's order
            yield f"{ipaddress.IPv4Address(octets)}:{int(port, 16)}"
