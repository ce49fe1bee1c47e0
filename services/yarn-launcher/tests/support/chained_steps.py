"""What the gangs of the fault suite compute: a chain of digests that needs every worker's part.

    chained_steps.py NOTES STORE [PART …]

Rank 0 opens its address of TF_CONFIG and makes the next link of what all ranks send, as a
collective does; every few links it keeps a checkpoint in the run folder (STORE is the page of the
NameNode, or `-` for a run folder on disk). Each rank leaves something of each link in its working
folder, as programs do that keep copies on their node. The result depends on nothing but the number
of workers, so a run that was disturbed must end with the result of one that was not.

NOTES is a folder of this machine. Each process writes `<rank>.<attempt>.jsonl` there: who it is,
and when each link was made. In attempt 1 all wait at link `HOLD`, talking to each other, for a file
`go`.

A PART is `<rank>.<attempt>:<what>`: `eat=MIB`, or `steal`, by which a stranger listens at the
address that is held for this process before it does.

A peer that hangs up is not taken for an end: TensorFlow, too, may need ten seconds to say so, and
who has to notice is the launcher. One that is silent is given up after `SILENCE_S`, as there.
"""

import contextlib
import getpass
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

STEPS, HOLD, KEEP_EVERY = 40, 20, 5
LOCAL_BYTES = 1 << 16
STEP_S = 0.05
SILENCE_S, LINGER_S, MEET_S = 8.0, 10.0, 60.0
TRY_AGAIN = 75
KEPT = "checkpoint-"


def link(state: str, parts: list[str]) -> str:
    """The next link of the chain."""
    return hashlib.sha256("|".join([state, *parts]).encode()).hexdigest()


def part(rank: int, step: int, state: str) -> str:
    """What a rank adds to a link."""
    return hashlib.sha256(f"{rank} {step} {state}".encode()).hexdigest()


def undisturbed(size: int) -> dict:
    """The result of a run to which nothing happens."""
    state = ""
    for step in range(STEPS):
        state = link(state, [part(rank, step, state) for rank in range(size)])
    return {"step": STEPS, "state": state}


class Disk:
    """The run folder on a disk."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder.removeprefix("file://")) / "chain"

    def names(self) -> list[str]:
        return [path.name for path in self._folder.glob("*")]

    def read(self, name: str) -> dict:
        return json.loads((self._folder / name).read_text())

    def keep(self, name: str, value: dict) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        hidden = self._folder / f".{name}.{os.getpid()}"
        hidden.write_text(json.dumps(value))
        hidden.rename(self._folder / name)


class Hdfs:
    """The run folder on HDFS, by way of the NameNode's page: a node has no client."""

    def __init__(self, folder: str, page: str) -> None:
        self._base = f"{page}/webhdfs/v1"
        self._folder = f"{urlsplit(folder).path}/chain"

    def names(self) -> list[str]:
        try:
            found = json.loads(self._ask("GET", self._folder, "LISTSTATUS"))
        except urllib.error.HTTPError:
            return []
        return [each["pathSuffix"] for each in found["FileStatuses"]["FileStatus"]]

    def read(self, name: str) -> dict:
        return json.loads(self._ask("GET", f"{self._folder}/{name}", "OPEN"))

    def keep(self, name: str, value: dict) -> None:
        hidden = f"{self._folder}/.{name}.{os.getpid()}"
        body = json.dumps(value).encode()
        where = json.loads(self._ask("PUT", hidden, "CREATE", "overwrite=true", "noredirect=true"))
        self._send("PUT", where["Location"], body)
        self._ask("PUT", hidden, "RENAME", f"destination={self._folder}/{name}")

    def _ask(self, method: str, path: str, verb: str, *more: str) -> bytes:
        words = "&".join([f"op={verb}", f"user.name={getpass.getuser()}", *more])
        return self._send(method, f"{self._base}{path}?{words}", None)

    def _send(self, method: str, url: str, body: bytes | None) -> bytes:
        request = urllib.request.Request(url, data=body, method=method)  # noqa: S310 - a NameNode's
        if body is not None:
            request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            return reply.read()


class Peer:
    """A connection to another rank: one JSON object a line."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(SILENCE_S)
        self._connection, self._lines = connection, connection.makefile("rb")

    def send(self, value: dict) -> None:
        try:
            self._connection.sendall(json.dumps(value).encode() + b"\n")
        except OSError as error:
            give_up(f"a peer hung up: {error}", LINGER_S)

    def hear(self) -> dict:
        try:
            line = self._lines.readline()
        except TimeoutError:
            give_up("a peer is silent", 0)
        except OSError as error:
            give_up(f"a peer hung up: {error}", LINGER_S)
        if not line:
            give_up("a peer hung up", LINGER_S)
        return json.loads(line)


def give_up(why: str, after_s: float) -> None:
    """End as TensorFlow's programs do when a peer is lost: with an exit code that says so."""
    sys.stdout.write(f"{why}\n")
    sys.stdout.flush()
    time.sleep(after_s)
    sys.exit(TRY_AGAIN)


class Notes:
    """What a process tells the test; by the one clock that all processes of a machine share.

    The first line says who it is.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads(os.environ["TF_CONFIG"])
        self.folder = folder
        self.rank, self.addresses = config["task"]["index"], config["cluster"]["worker"]
        self.attempt = int(os.environ["AUDIOLOOM_RUN_ATTEMPT"])
        self._file = (folder / f"{self.rank}.{self.attempt}.jsonl").open("a")
        self.add(
            pid=os.getpid(),
            agent=os.getppid(),
            node=os.environ.get("NM_HOST", ""),
            container=os.environ.get("CONTAINER_ID", ""),
            addresses=self.addresses,
            clock=time.time(),
        )

    def add(self, **what: object) -> None:
        self._file.write(json.dumps({**what, "at": time.monotonic()}) + "\n")
        self._file.flush()


def main() -> None:
    """Make the chain, as one of its workers."""
    notes = Notes(Path(sys.argv[1]))
    rank, attempt, addresses = notes.rank, notes.attempt, notes.addresses
    for what in mine(sys.argv[3:], rank, attempt):
        act(what, addresses[rank])
    folder = os.environ["AUDIOLOOM_RUN_FOLDER"]
    store = Disk(folder) if sys.argv[2] == "-" else Hdfs(folder, sys.argv[2])
    if rank == 0:
        lead(addresses, store, notes, hold=attempt == 1)
    else:
        follow(rank, addresses, notes)


def mine(parts: list[str], rank: int, attempt: int) -> Iterator[str]:
    """The parts of this process."""
    for each in parts:
        whose, _, what = each.partition(":")
        if whose == f"{rank}.{attempt}":
            yield what


def lead(addresses: list[str], store: Disk | Hdfs, notes: Notes, *, hold: bool) -> None:
    """Make link after link, from the last checkpoint on."""
    steps = [int(name.removeprefix(KEPT)) for name in store.names() if name.startswith(KEPT)]
    now = store.read(f"{KEPT}{max(steps)}") if steps else {"step": 0, "state": ""}
    peers = meet(addresses)
    while now["step"] < STEPS:
        step, state = now["step"], now["state"]
        waits = hold and step == HOLD and not (notes.folder / "go").exists()
        for peer in peers:
            peer.send({"waits": waits, **now})
        parts = [peer.hear()["part"] for peer in peers]
        if not waits:
            now = {"step": step + 1, "state": link(state, [part(0, step, state), *parts])}
            notes.add(step=step + 1)
            leave_here(0, step)
            if (step + 1) % KEEP_EVERY == 0:
                store.keep(f"{KEPT}{step + 1}", now)
        elif not notes.folder.joinpath("holds").exists():
            notes.folder.joinpath("holds").touch()
        time.sleep(STEP_S)
    store.keep("result", now)
    for peer in peers:
        peer.send({"over": True})


def leave_here(rank: int, step: int) -> None:
    """Write a file of a link."""
    Path(f"link-{rank}-{step}").write_bytes(bytes(LOCAL_BYTES))


def meet(addresses: list[str]) -> list[Peer]:
    """Listen at the first address until every other rank has come; they, by rank."""
    host, _, port = addresses[0].rpartition(":")
    with listen(host, int(port)) as server:
        server.settimeout(MEET_S)
        found: dict[int, Peer] = {}
        while len(found) < len(addresses) - 1:
            try:
                peer = Peer(server.accept()[0])
            except TimeoutError:
                give_up("not all peers came", 0)
            found[peer.hear()["rank"]] = peer
    return [found[rank] for rank in range(1, len(addresses))]


def listen(host: str, port: int) -> socket.socket:
    """A server at the address that the launcher holds."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((host, port))
    server.listen()
    return server


def follow(rank: int, addresses: list[str], notes: Notes) -> None:
    """Add this rank's part to each link."""
    leader = reach(addresses[0])
    leader.send({"rank": rank})
    while not (said := leader.hear()).get("over"):
        leader.send({"part": part(rank, said["step"], said["state"])})
        if not said["waits"]:
            notes.add(step=said["step"] + 1)
            leave_here(rank, said["step"])


def reach(address: str) -> Peer:
    """A connection to the leader, once it listens."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + MEET_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            return Peer(socket.create_connection((host, int(port)), timeout=SILENCE_S))
        time.sleep(0.1)
    give_up(f"nobody listens at {address}", 0)
    raise AssertionError


def act(what: str, address: str) -> None:
    """Do what the test asks of this process."""
    kind, _, value = what.partition("=")
    if kind == "eat":
        held = [b"x" * (1 << 20) for _ in range(int(value))]
        time.sleep(300)
        del held
    if kind == "steal":
        host, _, port = address.rpartition(":")
        with socket.socket() as plain, contextlib.suppress(OSError):
            plain.bind((host, int(port)))
            sys.exit("the port was not held")
        thief = (
            f"import chained_steps as c, time; held = c.listen({host!r}, {port}); time.sleep(300)"
        )
        subprocess.Popen([sys.executable, "-c", thief], cwd=Path(__file__).parent)
        # With two listeners the kernel gives each connection to one of them, by chance.
        with listen(host, int(port)) as server:
            server.settimeout(0.05)
            until = time.monotonic() + MEET_S
            while time.monotonic() < until:
                with socket.create_connection((host, int(port))):
                    try:
                        server.accept()[0].close()
                    except TimeoutError:
                        give_up(f"a stranger listens at {address}", 0)
                time.sleep(0.05)


if __name__ == "__main__":
    main()
