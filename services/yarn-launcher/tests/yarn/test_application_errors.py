import pytest
from audioloom_stage.exit_codes import exit_code
from audioloom_yarn_launcher.yarn.application_errors import (
    coordinator_outcome,
    explain,
    refusal,
    refused,
)


@pytest.mark.parametrize(
    ("diagnostics", "code", "told"),
    [
        ("Invalid resource request! Cannot allocate containers", 78, "no container that large"),
        ("Application a submitted by user u to unknown queue: x", 78, "no such queue"),
        ("User u cannot submit applications to queue root.x", 77, "does not let you"),
        ("YarnException: Download and unpack failed", 65, "cannot be unpacked"),
        ("/bin/bash: /usr/java/bin/java: No such file or directory", 78, "has no Java"),
        ("is running beyond the 'PHYSICAL' memory limit", 75, "killed for memory"),
        (
            "exitCode: -100 Container released on a *lost* node",
            75,
            "node of the application master",
        ),
        ("Application a was killed by user root at 127.0.0.1", 75, "somebody ended"),
        ("Application driver failed with exit code 1, see logs", 75, "before it could say"),
        ("Application driver failed with exit code 78, see logs", 78, "lacks a Python module"),
        ("something else\n\tat java.lang.Thread.run", 75, "did not say why"),
        ("", 75, "no diagnostics"),
    ],
)
def test_what_yarn_says_is_one_of_our_errors(diagnostics: str, code: int, told: str) -> None:
    """With its own words behind, and without a trace."""
    error = explain(diagnostics, application="application_1_1")
    assert code == exit_code(error)
    assert told in str(error)
    assert "java.lang" not in str(error)


FAILED = (
    "Application a failed 1 times due to AM Container for appattempt_1 exited with  exitCode: {}\n"
    "Failing this attempt.Diagnostics: [2026-11-21 19:06:17.024]Exception from container-launch."
)


@pytest.mark.parametrize(
    ("exit_of_master", "said", "code", "told"),
    [
        (127, "/bin/bash: line 1: /x/bin/java: No such file or directory", 78, "has no Java"),
        (126, "/bin/bash: line 1: /x/bin/java: Permission denied", 78, "has no Java"),
        (127, "", 78, "has no Java"),
        (1, "java.lang.UnsupportedClassVersionError: x : Unsupported major", 78, "too old"),
        (1, "UnsupportedOperationException: getSubject is not supported", 78, "too new"),
        (1, "Error: Could not find or load main class", 75, "load main class"),
        (1, "", 75, "exitCode: 1 Failing this attempt"),
    ],
)
def test_what_yarn_does_not_say_the_master_may_have(
    exit_of_master: int, said: str, code: int, told: str
) -> None:
    """Its last words come before what YARN says; times and repetitions are left out."""
    diagnostics = FAILED.format(exit_of_master)
    error = explain(diagnostics, application="application_1_1", last_words=lambda _: said)
    assert code == exit_code(error)
    assert told in str(error)
    assert "2026" not in str(error)


def test_the_cluster_itself_may_refuse() -> None:
    """There is no application then whose logs could be looked at."""
    assert 78 == exit_code(refused("x: unknown queue: y", asked="the ResourceManager"))
    for gone in ("RPC response has a length of 1213486160", "a failed on connection exception: b"):
        assert 69 == exit_code(refused(gone, asked="the ResourceManager"))
    error = refused("no idea", asked="the ResourceManager")
    assert 75 == exit_code(error)
    assert "yarn logs" not in str(error)


def test_what_our_coordinator_says_is_recognised() -> None:
    """By its form; anything else is YARN's."""
    assert (75, "another launcher\nis at work") == coordinator_outcome(
        "exit 75: another launcher\nis at work\n"
    )
    assert coordinator_outcome("Attempt exit 75: no") is None


@pytest.mark.parametrize("code", [65, 66, 69, 73, 74, 75, 77, 78])
def test_a_refusal_ends_the_launcher_as_it_ended_the_coordinator(code: int) -> None:
    """With the same exit code."""
    assert code == exit_code(refusal(code, "no", application="a"))
