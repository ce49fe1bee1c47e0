from audioloom_yarn_launcher.preflight.check_result import (
    CheckResult,
    cannot_tell,
    failure,
    has_failed,
    lines,
    ok,
)
from hypothesis import given
from hypothesis import strategies as st

STATES = st.sampled_from(["ok", "warning", "failure"])
FINDINGS = st.builds(CheckResult, st.text(max_size=9), STATES, st.text(), st.text())


def test_only_a_failure_is_one() -> None:
    """What nobody can tell is none."""
    assert not has_failed([ok("a", "b"), cannot_tell("c", "d")])
    assert has_failed([ok("a", "b"), failure("c", "d", "e")])


def test_a_finding_is_a_line_with_its_mend() -> None:
    """In columns, the state first."""
    found = [ok("a", "well"), failure("longer", "bad", "Mend it.")]
    assert ["ok       a       well", "FAILURE  longer  bad -> Mend it."] == lines(found)


@given(st.lists(FINDINGS))
def test_whatever_was_found_is_one_line_each(found: list[CheckResult]) -> None:
    """Errors of Java have many; nothing of them may look like another finding."""
    told = lines([CheckResult("check", each.state, each.text, each.hint) for each in found])
    assert len(found) == len(told)
    assert [] == [line for line in told if len(line.splitlines()) > 1]
