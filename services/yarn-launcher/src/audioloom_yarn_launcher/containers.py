"""What is said of a container: what YARN knows, in a sentence that says what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_TOLD = 400
_MEMORY = re.compile(r"[0-9.]+ [KMGT]?B of [0-9.]+ [KMGT]?B (?:physical|virtual) memory used")
_LOST = re.compile(r"released on a \*?lost\*? node")
_EXIT = re.compile(r"exitCode: (-?[0-9]+)|Exit code: (-?[0-9]+)|Exit code is (-?[0-9]+)")


@dataclass(frozen=True)
class ContainerSeen:
    """A container, as the application master sees it.

    Args:
        id: `worker_0`.
        state: `REQUESTED`, `RUNNING`, …
        node: `host:port` of its node's web page, empty until it has one.
        since_s: how long ago it was started, None if it was not.
        told: what YARN said when it ended.
    """

    id: str
    state: str
    node: str = ""
    since_s: float | None = None
    told: str = ""

    @property
    def where(self) -> str:
        """The host it runs on."""
        return self.node.rpartition(":")[0]


def gone_text(seen: ContainerSeen) -> str:
    """How a container ended."""
    place = f" on {seen.where}" if seen.where else ""
    if match := _MEMORY.search(seen.told):
        return (
            f"its container{place} was killed for memory ({match[0]}): ask for more with --memory"
        )
    if _LOST.search(seen.told):
        return f"its node {seen.where} was lost: YARN hears no more of it"
    if seen.state == "KILLED":
        return f"its container{place} was killed: {_short(seen.told) or 'no reason is known'}"
    if seen.state == "SUCCEEDED":
        return f"its container{place} ended of itself"
    match = _EXIT.search(seen.told)
    code = next((each for each in match.groups() if each), "") if match else ""
    ended = f"ended with exit code {code}" if code else "failed"
    return f"its container{place} {ended}: {_short(seen.told) or 'no reason is known'}"


def absent_text(seen: ContainerSeen) -> str:
    """Where a container hangs that should have come."""
    if seen.state in ("WAITING", "REQUESTED"):
        return f"{seen.id}: no container yet, the queue or the nodes have no room for it"
    if seen.state == "RUNNING":
        since = "" if seen.since_s is None else f" since {seen.since_s:.0f} s"
        return f"{seen.id}: its container runs on {seen.where}{since} and has said nothing"
    return f"{seen.id}: {gone_text(seen)}"


def _short(told: str) -> str:
    """The part of YARN's words that says something, on one line."""
    lines = [line.strip() for line in told.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("at ", "Last 4096"))]
    text = " ".join(kept)
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 1]}…"
