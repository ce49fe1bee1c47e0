import pytest
from audioloom_yarn_launcher.containers import ContainerSeen, absent_text, gone_text


@pytest.mark.parametrize(
    ("state", "told", "expected"),
    [
        (
            "FAILED",
            (
                "Container killed by YARN for exceeding memory limits. 1.2 GB of 1 GB physical"
                " memory used"
            ),
            (
                "its container on n1 was killed for memory (1.2 GB of 1 GB physical memory used):"
                " ask for more with --memory"
            ),
        ),
        (
            "FAILED",
            (
                "[2026-01-01]Exception from container-launch.\nContainer id: c\nExit code: 3\n"
                "\tat java.lang.Thread"
            ),
            (
                "its container on n1 ended with exit code 3: [2026-01-01]Exception from"
                " container-launch. Container id: c Exit code: 3"
            ),
        ),
        (
            "FAILED",
            "Container released on a *lost* node",
            "its node n1 was lost: YARN hears no more of it",
        ),
        ("FAILED", "", "its container on n1 failed: no reason is known"),
        ("KILLED", "by you", "its container on n1 was killed: by you"),
        ("SUCCEEDED", "Completed successfully.", "its container on n1 ended of itself"),
    ],
)
def test_how_a_container_ended_is_a_sentence(state: str, told: str, expected: str) -> None:
    """On one line, without a trace."""
    assert expected == gone_text(ContainerSeen("worker_0", state, "n1:8042", 3.0, told))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("REQUESTED", "worker_0: no container yet, the queue or the nodes have no room for it"),
        ("RUNNING", "worker_0: its container runs on n1 since 3 s and has said nothing"),
        ("SUCCEEDED", "worker_0: its container on n1 ended of itself"),
    ],
)
def test_where_a_container_hangs_is_told(state: str, expected: str) -> None:
    """So that one knows whom to ask."""
    assert expected == absent_text(ContainerSeen("worker_0", state, "n1:8042", 3.0))
