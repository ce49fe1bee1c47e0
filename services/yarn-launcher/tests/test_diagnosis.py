import pytest
from audioloom_stage import exit_code
from audioloom_yarn_launcher.diagnosis import explain, ours, refusal


@pytest.mark.parametrize(
    ("diagnostics", "code", "told"),
    [
        ("Invalid resource request! Cannot allocate containers", 78, "no container that large"),
        ("Application a submitted by user u to unknown queue: x", 78, "no such queue"),
        ("User u cannot submit applications to queue root.x", 77, "does not let you"),
        ("/bin/bash: /usr/java/bin/java: No such file or directory", 78, "has no Java"),
        ("is running beyond the 'PHYSICAL' memory limit", 75, "killed for memory"),
        ("Application a was killed by user root at 127.0.0.1", 75, "somebody ended"),
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


def test_what_our_coordinator_says_is_recognised() -> None:
    """By its form; anything else is YARN's."""
    assert (75, "another launcher\nis at work") == ours("exit 75: another launcher\nis at work\n")
    assert ours("Attempt exit 75: no") is None


@pytest.mark.parametrize("code", [65, 66, 69, 73, 75, 77, 78])
def test_a_refusal_ends_the_launcher_as_it_ended_the_coordinator(code: int) -> None:
    """With the same exit code."""
    assert code == exit_code(refusal(code, "no", application="a"))
