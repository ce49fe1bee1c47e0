"""Requests to a ResourceManager about an application, over HTTP and without a JVM.

A cluster with Kerberos refuses them, because this client cannot authenticate. Then the answer
counts as unknown.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

from audioloom_hadoop import rest

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.scheduling import NO_REASON, Answers, explain_shortage

SAID_WITHIN_S, SAY_EVERY_S = 6.0, 1.0
"""The scheduler writes down what it thinks from when it is first asked."""
ENDED = frozenset({"FINISHED", "FAILED", "KILLED", "GONE"})


@dataclass(frozen=True)
class Application:
    """The ResourceManager's answer about an application; its state is GONE if it knows none."""

    state: str
    diagnostics: str = ""
    name: str = ""

    @property
    def ended(self) -> bool:
        """Whether the application has ended, and YARN starts no part of it again."""
        return self.state in ENDED


def look_up(application: str) -> Application | None:
    """Look up an application on this machine's cluster; None if no ResourceManager answers."""
    answer = ask(f"cluster/apps/{application}")
    if answer is None:
        return None
    found = answer.get("app")
    if not isinstance(found, dict):
        return Application("GONE")
    return Application(
        str(found.get("state", "")),
        str(found.get("diagnostics", "")),
        str(found.get("name", "")),
    )


def why_not_allocated(application: str, patience_s: float = SAID_WITHIN_S) -> str:
    """Explain in a sentence why YARN has not allocated the containers of an application.

    The scheduler has *patience_s* to explain it, if numbers do not.
    """
    whole = (f"cluster/apps/{application}", "cluster/nodes", "cluster/scheduler")
    answers = Answers(*map(ask, whole))
    what = f"cluster/scheduler/app-activities/{application}"
    deadline = time.monotonic() + patience_s
    while explain_shortage(answers).endswith(NO_REASON):  # else its own words would add nothing
        found = ask(f"{what}?summarize=true&groupBy=diagnostic&maxTime=2")
        answers = replace(answers, activities=found)
        if time.monotonic() >= deadline:
            break
        time.sleep(SAY_EVERY_S)
    return explain_shortage(answers)


def ask(what: str) -> dict[str, Any] | None:
    """Return the first ResourceManager's answer to `/ws/v1/<what>`; {} if there is no such page.

    None if no ResourceManager answers, or no cluster is configured.
    """
    try:
        return rest.ask(find_hadoop().pages, f"/ws/v1/{what}")
    except NoCluster:
        return None
