"""What the coordinator of a gang on a cluster ends its application with."""

from __future__ import annotations

from types import SimpleNamespace

from audioloom_yarn_launcher.commands.coordinator import end
from audioloom_yarn_launcher.yarn.application_errors import coordinator_outcome
from audioloom_yarn_launcher.yarn.containers import ContainerState, loss_of_container


def test_what_yarn_shows_of_a_run_holds_no_secret_and_no_control() -> None:
    """The last line of a container is part of it; an older client reads it as before."""
    seen = ContainerState("worker_0", "FAILED", "n1:8042", told="exitCode: 1")
    loss = loss_of_container(seen, said="x\nerror: no access with --token hunter2 \x1b[31m\x9b2J")
    told: list[tuple[str, str]] = []
    application = SimpleNamespace(shutdown=lambda status, text: told.append((status, text)))
    end(application, "FAILED", 75, loss.cause("worker 0 was lost").text)
    ((status, text),) = told
    shown = (
        r"worker 0 was lost: its container on n1 ended with exit code 1 after writing: error: no"
        r" access with --token ********** \x1b[31m\x9b2J"
    )
    assert ("FAILED", (75, shown)) == (status, coordinator_outcome(text))
