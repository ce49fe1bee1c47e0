import threading
from functools import partial
from importlib import import_module
from operator import getitem
from typing import Any

from audioloom_stage.checks import (
    CheckResult,
    cannot_tell,
    failure,
    has_failed,
    lines,
    look,
    ok,
    report,
    skipped,
)
from audioloom_stage.errors import NoPermission
from audioloom_storage import NotFound
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


def test_skipped_checks_are_one_line_for_each_reason() -> None:
    """A wall of lines would bury the cause."""
    found = [
        skipped("a", "no cluster"),
        failure("b", "bad", "Fix it."),
        skipped("c", "no cluster"),
        skipped("d", "it needs b"),
    ]
    assert [
        "FAILURE  b  bad -> Fix it.",
        "skipped  a, c  no cluster",
        "skipped  d  it needs b",
    ] == lines(found)
    assert not has_failed([found[0]])


@given(st.lists(FINDINGS))
def test_whatever_was_found_is_one_line_each(found: list[CheckResult]) -> None:
    """Errors of Java have many; nothing of them may look like another finding."""
    told = lines([CheckResult("check", each.state, each.text, each.hint) for each in found])
    assert len(found) == len(told)
    assert [] == [line for line in told if len(line.splitlines()) > 1]


def test_no_check_hides_another() -> None:
    """Neither by what it raises nor by never answering; their order stays."""

    def refuse() -> Any:
        raise NoPermission("there is none", found="nothing", hint="Get one.")

    def miss() -> Any:
        raise NotFound("nothing lies there", where="/x")

    for_ever = threading.Event()
    checks: dict[str, Any] = {
        "refuses": refuse,
        "misses": miss,
        "breaks": partial(getitem, {}, "key"),
        "imports": partial(import_module, "nothing_like_it"),
        "hangs": for_ever.wait,
        "is well": lambda: ok("is well", "yes"),
    }
    found = look(checks, within_s=1.5)
    for_ever.set()
    assert [
        ("refuses", "failure", "there is none: found nothing", "Get one."),
        ("misses", "failure", "/x: nothing lies there", ""),
        ("breaks", "warning", "cannot tell: KeyError: 'key'"),
        ("imports", "failure", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("hangs", "failure", "no answer within 1.5 s"),
        ("is well", "ok", "yes", ""),
    ] == [
        (each.check, each.state, each.text, each.hint)[: 3 if each.check in LONG else 4]
        for each in found
    ]


LONG = ("breaks", "imports", "hangs")
"""What to do about these is said in general."""


def test_a_failure_is_the_exit_code_of_the_report() -> None:
    """A warning is none; programs get every check."""
    bad = report([ok("a", "well"), failure("b", "bad", "Fix it.")])
    assert (78, 0) == (bad.exit_code, report([cannot_tell("a", "why")]).exit_code)
    assert [
        {"check": "a", "state": "ok", "text": "well", "hint": ""},
        {"check": "b", "state": "failure", "text": "bad", "hint": "Fix it."},
    ] == bad.data["findings"]
