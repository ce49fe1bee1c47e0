"""The end of a container, described in a sentence that says what to do."""

import re
from dataclasses import dataclass

from audioloom_hadoop.yarn_diagnostics import Cause, brief, diagnose

from audioloom_yarn_launcher.rendezvous.backend import Arrival, silent_text
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, WorkerLost, code_after
from audioloom_yarn_launcher.rendezvous.messages import Reason

ASKED = ("WAITING", "REQUESTED")
"""States of a container that YARN has not given."""
MOST_TOLD = 400
_EXIT = re.compile(r"exitCode: (-?[0-9]+)|Exit code: (-?[0-9]+)|Exit code is (-?[0-9]+)")
_BAD_DATA, _MISSING = 65, 66
_KNOWN: dict[Cause, tuple[int, Reason, str]] = {
    Cause.OUT_OF_MEMORY: (
        TRY_AGAIN,
        "memory",
        "its container{place} was killed for memory ({words}): ask for more with --memory (or"
        " `memory` of its role)",
    ),
    Cause.LOST_NODE: (
        TRY_AGAIN,
        "node-lost",
        "its node {host} was lost: YARN hears no more of it, or took it out of service",
    ),
    Cause.PREEMPTED: (
        TRY_AGAIN,
        "preempted",
        "its container{place} was preempted: YARN gave what it had to another queue",
    ),
    Cause.DISKS_FAILED: (
        TRY_AGAIN,
        "disk-failed",
        "its container{place} was ended because disks of its node failed ({words})",
    ),
    Cause.BAD_ARCHIVE: (
        _BAD_DATA,
        "localization",
        "an archive that its container needs cannot be unpacked{place}: it is damaged, or there is"
        " no room for it. Look at --environment",
    ),
    Cause.CHANGED_FILE: (
        _BAD_DATA,
        "localization",
        "a file that its container needs is not the one that was submitted any more: {words}",
    ),
    Cause.MISSING_FILE: (
        _MISSING,
        "localization",
        "a file that its container needs is not there any more: {words}",
    ),
}
"""The exit code of the run, the reason, and our words."""


@dataclass(frozen=True)
class ContainerState:
    """A container, as the application master sees it; "" and None before it is allocated.

    Args:
        id: skein's id, such as `worker_0`.
        node: `host:port` of its node's web page.
        since_s: seconds since its start.
        told: YARN's diagnostics after the end.
        container: YARN's id of the container.
    """

    id: str
    state: str
    node: str = ""
    since_s: float | None = None
    told: str = ""
    container: str = ""

    @property
    def service(self) -> str:
        """The service of the container, which names its log."""
        return self.id.rpartition("_")[0]

    @property
    def where(self) -> str:
        """The host that the container runs on."""
        return self.node.rpartition(":")[0]


def loss_of_container(seen: ContainerState, said: str = "") -> WorkerLost:
    """Describe how a container ended, whose log ends with *said*, and whether that would repeat."""
    place = f" on {seen.where}" if seen.where else ""
    if known := diagnose(seen.told, among=_KNOWN):
        code, reason, text = _KNOWN[known.cause]
        return WorkerLost(
            text.format(words=known.words, place=place, host=seen.where), code, reason
        )
    last = said.rstrip().rpartition("\n")[2]
    return WorkerLost(_gone_text(seen, place, last), code_after(last))


def failed_itself(seen: ContainerState) -> bool:
    """Return whether a container failed for a reason that only its log may tell."""
    return seen.state == "FAILED" and diagnose(seen.told, among=_KNOWN) is None


def _gone_text(seen: ContainerState, place: str, last: str) -> str:
    told = brief(seen.told, MOST_TOLD) or "no reason is known"
    if seen.state == "KILLED":
        return f"its container{place} was killed: {told}"
    if seen.state == "SUCCEEDED":
        return f"its container{place} ended of itself"
    match = _EXIT.search(seen.told)
    code = next((each for each in match.groups() if each), "") if match else ""
    ended = f"ended with exit code {code}" if code else "failed"
    if last:
        return f"its container{place} {ended} after writing: {last}"
    return f"its container{place} {ended}: {told}"


def arrival(seen: ContainerState, *, shortage: str, said: str) -> Arrival:
    """Describe how far an unregistered container has come.

    It is pending for the reason *shortage*, or runs and has *said* this last.
    """
    if seen.state in ASKED:
        return Arrival(seen.id, "not-allocated", reason=f"no container yet: {shortage}")
    if seen.state == "RUNNING":
        since = "" if seen.since_s is None else f" since {seen.since_s:.0f} s"
        reason = f"its container runs on {seen.where}{since} and {silent_text(said)}"
        return Arrival(
            seen.id, "unregistered", host=seen.where, since_s=seen.since_s, reason=reason, tail=said
        )
    return Arrival(
        seen.id, "ended", host=seen.where, since_s=seen.since_s, reason=loss_of_container(seen).text
    )
