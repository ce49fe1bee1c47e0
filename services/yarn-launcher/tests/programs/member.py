# ruff: noqa: T201 - its output is what the logs are about
"""What the tests let a gang run: says who it is told to be, and does what its part says.

    member.py NOTES [PART …]

NOTES is a folder: `<rank>.<attempt>.json` is written there by each member, and the file `go` ends
those that have nothing else to do. A PART is `<rank>.<attempt>:<what>`, with `*` for any: `exit=3`,
`kill` (SIGKILL to itself), `commit` (write a manifest), `say=TEXT`, `stay` (at SIGTERM, only write
`<rank>.<attempt>.told`).
"""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE_S = 120


def main() -> None:
    notes, parts = Path(sys.argv[1]), sys.argv[2:]
    config = json.loads(os.environ["TF_CONFIG"])
    rank, attempt = config["task"]["index"], int(os.environ["AUDIOLOOM_RUN_ATTEMPT"])
    ours = [
        what
        for whose, _, what in (part.partition(":") for part in parts)
        if fits(whose, rank, attempt)
    ]
    if "stay" in ours:
        told = notes / f"{rank}.{attempt}.told"
        signal.signal(signal.SIGTERM, lambda *_: told.touch())
    escaped = subprocess.Popen(
        ["/bin/sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL
    )
    note = {
        "pid": os.getpid(),
        "worker": os.getppid(),
        "escaped": escaped.pid,
        "generation": int(os.environ["AUDIOLOOM_RUN_GENERATION"]),
        "folder": os.environ["AUDIOLOOM_RUN_FOLDER"],
        "reuse": os.environ["TF_GRPC_REUSE_PORT"],
        "config": config,
        "without_reuse": bind(config, rank, reuse=False),
        "with_reuse": bind(config, rank, reuse=True),
        "open": sorted(int(path.name) for path in Path("/proc/self/fd").iterdir()),
    }
    print(f"member {rank} of attempt {attempt}")
    hidden = notes / f".{rank}.{attempt}"
    hidden.write_text(json.dumps(note))
    hidden.rename(notes / f"{rank}.{attempt}.json")
    wait_for_all(notes, len(config["cluster"]["worker"]), attempt)
    for what in ours:
        act(what)
    deadline = time.monotonic() + PATIENCE_S
    while not (notes / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def fits(whose: str, rank: int, attempt: int) -> bool:
    wanted = whose.split(".")
    return wanted[0] in ("*", str(rank)) and wanted[1] in ("*", str(attempt))


def wait_for_all(notes: Path, size: int, attempt: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(list(notes.glob(f"*.{attempt}.json"))) < size and time.monotonic() < deadline:
        time.sleep(0.01)


def act(what: str) -> None:
    kind, _, value = what.partition("=")
    if kind == "exit":
        sys.exit(int(value))
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "say":
        print(value)
    if kind == "commit":
        folder = Path(os.environ["AUDIOLOOM_RUN_FOLDER"].removeprefix("file://"))
        (folder / "manifest.json").write_text("{}")
        sys.exit(0)


def bind(config: dict, rank: int, *, reuse: bool) -> str:
    host, _, port = config["cluster"]["worker"][rank].rpartition(":")
    with socket.socket() as ours:
        if reuse:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            ours.bind((host, int(port)))
        except OSError as error:
            return errno.errorcode[error.errno]
        return "bound"


if __name__ == "__main__":
    main()
