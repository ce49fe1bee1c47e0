# ruff: noqa: T201 - its output is what the logs are about
"""What the tests let a gang run on a cluster: says where it is, and does what its part says.

    on_node.py [PART …]

A PART is `<rank>.<attempt>:<what>`, with `*` for any: `exit=3`, `stay` (five minutes), `eat=MIB`
(take that much memory, and then stay).
"""

import json
import os
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
        "pids": [os.getpid(), os.getppid(), escaped.pid],
    }
    print(json.dumps(note), flush=True)
    for part in sys.argv[1:]:
        whose, _, what = part.partition(":")
        wanted = whose.split(".")
        if wanted[0] in ("*", rank) and wanted[1] in ("*", attempt):
            act(*what.split("="))
    print("done")


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
