import pytest
from audioloom_yarn_launcher.rendezvous.backend import Arrival
from audioloom_yarn_launcher.rendezvous.causes import TRY_AGAIN, WorkerLost
from audioloom_yarn_launcher.yarn.containers import (
    ContainerState,
    arrival,
    failed_itself,
    loss_of_container,
)


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
                " ask for more with --memory (or `memory` of its role)"
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
            "its node n1 was lost: YARN hears no more of it, or took it out of service",
        ),
        (
            "FAILED",
            "Container preempted by scheduler",
            "its container on n1 was preempted: YARN gave what it had to another queue",
        ),
        (
            "FAILED",
            "Most of the disks failed. 1/1 local-dirs usable space is below\nmore",
            "its container on n1 was ended because disks of its node failed (Most of the disks"
            " failed. 1/1 local-dirs usable space is below)",
        ),
        ("FAILED", "", "its container on n1 failed: no reason is known"),
        ("KILLED", "by you", "its container on n1 was killed: by you"),
        ("SUCCEEDED", "Completed successfully.", "its container on n1 ended of itself"),
    ],
)
def test_how_a_container_ended_is_a_sentence(state: str, told: str, expected: str) -> None:
    """On one line, without a trace."""
    loss = loss_of_container(ContainerState("worker_0", state, "n1:8042", 3.0, told))
    assert (expected, TRY_AGAIN) == (loss.text, loss.exit_code)


@pytest.mark.parametrize(
    ("told", "code", "expected"),
    [
        (
            "[2026-11-23 06:18:54.633] java.lang.reflect.UndeclaredThrowableException\nCaused by:"
            " org.apache.hadoop.yarn.exceptions.YarnException: Download and unpack failed\n\t..."
            " 10 more\nCaused by: java.io.IOException: Error executing command. gzip -dc | (cd",
            65,
            "an archive that its container needs cannot be unpacked on n1: it is damaged, or there"
            " is no room for it. Look at --environment",
        ),
        (
            "Resource hdfs://nn/e.zip changed on src filesystem (expected 1, was 2",
            65,
            "a file that its container needs is not the one that was submitted any more:"
            " hdfs://nn/e.zip",
        ),
        (
            "java.io.FileNotFoundException: File does not exist: hdfs://nn/e.zip\n\tat",
            66,
            "a file that its container needs is not there any more: hdfs://nn/e.zip",
        ),
    ],
)
def test_what_a_node_cannot_get_ready_will_fail_again(told: str, code: int, expected: str) -> None:
    """Wherever it is tried: the codes are those that are not started anew."""
    loss = loss_of_container(ContainerState("worker_0", "FAILED", "n1:8042", None, told))
    assert WorkerLost(expected, code, "localization") == loss
    assert loss.cause("worker_0 was lost").repeats


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("REQUESTED", Arrival("worker_0", "not-allocated", reason="no container yet: full")),
        (
            "RUNNING",
            Arrival(
                *("worker_0", "unregistered", None, "n1", "", 3.0),
                "its container runs on n1 since 3 s and last wrote: oh",
                "oh",
            ),
        ),
        (
            "SUCCEEDED",
            Arrival(
                *("worker_0", "ended", None, "n1", "", 3.0), "its container on n1 ended of itself"
            ),
        ),
    ],
)
def test_where_a_container_hangs_is_told(state: str, expected: Arrival) -> None:
    """So that one knows whom to ask."""
    seen = ContainerState("worker_0", state, "n1:8042", 3.0)
    assert expected == arrival(seen, shortage="full", said="oh")


def test_a_worker_that_could_not_come_is_told_by_its_last_words() -> None:
    """Which nobody else has seen, and of which YARN only says that they are in its logs."""
    told = "Container failed during execution, see logs for more information."
    seen = ContainerState("worker_0", "FAILED", "n1:8042", 3.0, told)
    expected = "its container on n1 failed after writing: it is so"
    assert WorkerLost(expected) == loss_of_container(seen, "first\nit is so\n")
    assert WorkerLost(f"its container on n1 failed: {told[:-1]}") == loss_of_container(seen)
    assert failed_itself(seen)
    lacking = "Traceback …\nModuleNotFoundError: No module named 'x'\n"
    assert 78 == loss_of_container(seen, lacking).exit_code
    for state, said in (("FAILED", "released on a *lost* node"), ("KILLED", ""), ("RUNNING", "")):
        assert not failed_itself(ContainerState("worker_0", state, "n1:8042", 3.0, said))
