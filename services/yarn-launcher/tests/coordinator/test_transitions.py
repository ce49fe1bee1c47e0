from audioloom_yarn_launcher.coordinator.transitions import (
    Failed,
    Finished,
    forming,
    running,
    unreported,
    vanished,
)
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.rendezvous.messages import Exit, Member, Membership, Reports
from audioloom_yarn_launcher.rendezvous.roles import Group, policy

ONE = Member("one", "a:1", "a", 1)
TWO = Member("two", "b:1", "b", 2)
MEMBERSHIP = Membership(1, 0, (ONE, TWO))
BOTH = {0: ONE, 1: TWO}
ALL = policy((Group("worker", 2),))
WELL, BADLY = (Exit("x", code=code, stopped=False) for code in (0, 1))


def test_a_gang_does_not_form_before_all_are_ready() -> None:
    """A rank that is claimed is not ready, and one that is ready may have lost its rank."""
    ranks = {0: "one", 1: "two"}
    assert None is forming(2, Reports(ranks=ranks, ready={0: ONE}))
    assert None is forming(2, Reports(ranks={0: "one"}, ready=BOTH))
    assert None is forming(2, Reports(ranks={0: "one", 1: "three"}, ready=BOTH))
    assert (ONE, TWO) == forming(2, Reports(ranks=ranks, ready=BOTH))


def test_a_gang_does_not_form_with_one_address_twice() -> None:
    """Two machines that call themselves localhost would each talk to themselves, for ever."""
    twin = Member("two", "a:1", "b", 2)
    reports = Reports(ranks={0: "one", 1: "two"}, ready={0: ONE, 1: twin})
    cause = forming(2, reports)
    assert isinstance(cause, Cause)
    assert cause.text.startswith("workers 0 on a and 1 on b have one address, a:1: ")
    gone = Reports(ranks={0: "one", 1: "three"}, ready={0: ONE, 1: twin})
    assert None is forming(2, gone)


def test_a_gang_does_not_form_with_more_addresses_than_a_variable_holds() -> None:
    """No process could be started, and the gang would fail again and again."""
    members = [Member(f"w{n}", f"node-{n}.example.com:40000", "node", n) for n in range(5000)]
    for size, fits in ((3000, True), (5000, False)):
        chosen = members[:size]
        ranks = {rank: member.id for rank, member in enumerate(chosen)}
        found = forming(size, Reports(ranks=ranks, ready=dict(enumerate(chosen))))
        assert fits == (found == tuple(chosen))
    assert isinstance(found, Cause)
    assert 78 == found.exit_code
    assert "the addresses of 5000 workers are too long for TF_CONFIG (1" in found.text


def test_a_member_that_vanished_or_came_back_as_another_is_lost() -> None:
    """Unless it has said before how its process ended."""
    assert Failed({1: "two"}) == running(MEMBERSHIP, Reports(ready={0: ONE}), ALL)
    other = Member("three", "b:2", "b", 3)
    assert Failed({1: "two"}) == running(MEMBERSHIP, Reports(ready={0: ONE, 1: other}), ALL)
    done = {1: Exit("two", code=0, stopped=False)}
    assert None is running(MEMBERSHIP, Reports(ready={0: ONE}, exits=done), ALL)


def test_one_process_that_fails_ends_the_generation() -> None:
    """One that ends well does not, until all have."""
    well = Exit("one", code=0, stopped=False)
    for code in (1, -9, 65):
        failed = {0: well, 1: Exit("two", code=code, stopped=False)}
        assert Failed({}) == running(MEMBERSHIP, Reports(ready=BOTH, exits=failed), ALL)
    assert None is running(MEMBERSHIP, Reports(ready=BOTH, exits={0: well}), ALL)
    both = {0: well, 1: Exit("two", code=0, stopped=False)}
    assert Finished() == running(MEMBERSHIP, Reports(ready=BOTH, exits=both), ALL)


def test_who_may_fail_ends_nothing() -> None:
    """Neither by an exit code nor by vanishing; the others count as ever."""
    roles = policy((Group("worker", 1), Group("evaluator", 1, may_fail=True)))
    assert None is running(MEMBERSHIP, Reports(ready=BOTH, exits={1: BADLY}), roles)
    assert None is running(MEMBERSHIP, Reports(ready={0: ONE}), roles)
    assert Finished() == running(MEMBERSHIP, Reports(ready={0: ONE}, exits={0: WELL}), roles)
    assert None is running(MEMBERSHIP, Reports(ready=BOTH, exits={0: WELL}), roles)
    assert Failed({}) == running(MEMBERSHIP, Reports(ready=BOTH, exits={0: BADLY}), roles)
    assert Failed({0: "one"}) == running(MEMBERSHIP, Reports(ready={1: TWO}), roles)


def test_who_need_not_finish_is_not_waited_for() -> None:
    """But must not fail while the others are at work."""
    roles = policy((Group("worker", 1), Group("ps", 1, must_finish=False)))
    assert Finished() == running(MEMBERSHIP, Reports(ready=BOTH, exits={0: WELL}), roles)
    assert Failed({}) == running(MEMBERSHIP, Reports(ready=BOTH, exits={1: BADLY}), roles)
    assert None is running(MEMBERSHIP, Reports(ready=BOTH, exits={1: WELL}), roles)


def test_who_ends_the_job_ends_it_for_all() -> None:
    """When it has finished well, and not before."""
    roles = policy((Group("chief", 1, ends_job=True), Group("worker", 1)))
    assert Finished() == running(MEMBERSHIP, Reports(ready=BOTH, exits={0: WELL}), roles)
    assert None is running(MEMBERSHIP, Reports(ready=BOTH, exits={1: WELL}), roles)
    assert Failed({}) == running(MEMBERSHIP, Reports(ready=BOTH, exits={0: BADLY}), roles)


def test_silent_are_those_that_are_there_and_have_said_nothing() -> None:
    """Who vanished is not waited for."""
    assert {0: "one", 1: "two"} == unreported(MEMBERSHIP, Reports(ready=BOTH))
    assert {0: "one"} == unreported(MEMBERSHIP, Reports(ready={0: ONE}))
    said = {0: Exit("one", code=1, stopped=False)}
    assert {} == unreported(MEMBERSHIP, Reports(ready={0: ONE}, exits=said))
    assert {1: "two"} == vanished(MEMBERSHIP, Reports(ready={0: ONE}, exits=said))
