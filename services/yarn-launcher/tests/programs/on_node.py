# ruff: noqa: T201 - its output is what the logs are about
"""What the tests let a gang run on a cluster: says where it is, and does what its part says.

    on_node.py [PART …]

A PART is `<rank>.<attempt>:<what>`, with `*` for any: `exit=3`, `stay` (five minutes), `eat=MIB`
(take that much memory, and then stay).
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    config = json.loads(os.environ["TF_CONFIG"])
    rank, attempt = str(config["task"]["index"]), os.environ["AUDIOLOOM_RUN_ATTEMPT"]
    escaped = subprocess.Popen(
        ["/bin/sleep", "317"], start_new_session=True, stdout=subprocess.DEVNULL
    )
    note = {
        "python": str(Path(sys.executable).absolute()),
        "prefix": sys.prefix,
        "path": [each for each in sys.path if each],
        "folder": str(Path.cwd()),
        "config": config,
        "node": os.environ["NM_HOST"],
        "generation": int(os.environ["AUDIOLOOM_RUN_GENERATION"]),
        "variable": os.environ.get("OF_THE_TEST"),
        "listens": where_it_listens(config),
        "pids": [os.getpid(), os.getppid(), escaped.pid],
    }
    print(json.dumps(note), flush=True)
    for part in sys.argv[1:]:
        whose, _, what = part.partition(":")
        wanted = whose.split(".")
        if wanted[0] in ("*", rank) and wanted[1] in ("*", attempt):
            act(*what.split("="))
    print("done")


def where_it_listens(config: dict) -> list[str]:
    """The address of a server as TensorFlow makes its own: at the worker's port, of both families.

    And what the record says of it.
    """
    rank = config["task"]["index"]
    host, _, port = config["cluster"]["worker"][rank].rpartition(":")
    with socket.socket(socket.AF_INET6) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("::", int(port)))
        server.listen()
        return [host, server.getsockname()[0]]


def act(kind: str, value: str = "0") -> None:
    if kind == "exit":
        sys.exit(int(value))
    if kind == "eat":
        time.sleep(3)  # YARN may kill it within a second, before anyone has noted what it takes
        held = [b"x" * (1 << 20) for _ in range(int(value))]
        time.sleep(300)
        del held
    if kind == "stay":
        time.sleep(300)


if __name__ == "__main__":
    main()
