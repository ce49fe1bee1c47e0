"""The memory and the GPUs that a program uses while it runs."""

import os
from pathlib import Path

from audioloom_yarn_launcher.system.files import text_of
from audioloom_yarn_launcher.system.processes import output_of

ASK_WITHIN_S = 5.0
MIB = 1 << 20
_PROC = Path("/proc")


def container_limit_bytes() -> int | None:
    """Return the memory of this process's container, from skein's variable; None without one."""
    told = os.environ.get("SKEIN_RESOURCE_MEMORY", "")
    return int(told) * MIB if told.isdecimal() else None


def memory_bytes(pid: int) -> int:
    """Return the memory (PSS, with its share of shared pages) of a process; 0 if it is gone."""
    lines = text_of(_PROC / str(pid) / "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def gpus(pids: list[int]) -> list[dict[str, float]]:
    """Return the GPUs that these processes use; [] without `nvidia-smi`.

    `busy` is the share of the time in which it worked, 0 to 1; `memory_bytes` counts all programs.
    """
    used = {uuid for pid, uuid in ask_gpus("compute-apps=pid,gpu_uuid") if int(pid) in pids}
    if not used:
        return []
    rows = ask_gpus("gpu=index,uuid,utilization.gpu,memory.used,memory.total")
    return [
        {
            "index": int(index),
            "busy": _number(busy) / 100,
            "memory_bytes": _number(memory) * MIB,
            "memory_total_bytes": _number(total) * MIB,
        }
        for index, uuid, busy, memory, total in rows
        if uuid in used
    ]


def ask_gpus(what: str) -> list[list[str]]:
    """Return the answer of `nvidia-smi` to a query, by row; the first cell is a number."""
    said = output_of(
        "nvidia-smi", f"--query-{what}", "--format=csv,noheader,nounits", within_s=ASK_WITHIN_S
    )
    rows = [[cell.strip() for cell in line.split(",")] for line in said.splitlines()]
    width = what.count(",") + 1
    return [row for row in rows if len(row) == width and row[0].isdecimal()]


def _number(cell: str) -> int:
    return int(cell) if cell.isdecimal() else 0  # "[N/A]" from a GPU without the value
