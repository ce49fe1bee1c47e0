"""A script for a Python that has skein: a command in so many containers, and nothing around it.

    python raw_containers.py SIZE MEMORY_MB COMMAND…

Each is told by TF_CONFIG who it is. Waits until the application has ended.
"""

import json
import shlex
import socket
import sys
import time

import skein

FINISHED = ("FINISHED", "FAILED", "KILLED")


def main() -> None:
    """Submit it, and wait."""
    size, memory, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    workers = [f"127.0.0.1:{port}" for port in _ports(size)]
    lines = ["case $SKEIN_CONTAINER_ID in"]
    for index in range(size):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        lines.append(f"  worker_{index}) export TF_CONFIG={shlex.quote(json.dumps(task))} ;;")
    lines += ["esac", f"exec {shlex.join(command)}", ""]
    service = skein.Service(
        resources=skein.Resources(memory=memory, vcores=1),
        instances=size,
        script="\n".join(lines),
    )
    with skein.Client() as client:
        name = client.submit(skein.ApplicationSpec(services={"worker": service}, name="raw"))
        while client.application_report(name).state not in FINISHED:
            time.sleep(0.2)


def _ports(count: int) -> list[int]:
    """Ports on which nothing listens now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return found


if __name__ == "__main__":
    main()
