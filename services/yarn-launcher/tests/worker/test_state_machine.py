from dataclasses import replace

import pytest
from audioloom_yarn_launcher.rendezvous.messages import End, Member, Orders, Roster
from audioloom_yarn_launcher.worker.state_machine import Standing, Step, next_step
from hypothesis import given
from hypothesis import strategies as st

ME = Member("me", "127.0.0.1:1", "here", 1)
OTHER = Member("other", "127.0.0.1:2", "here", 2)
WITH_ME = Roster(1, 0, (ME, OTHER))
READY = Standing("me", rank=0, generation=0)


@pytest.mark.parametrize(
    ("orders", "mine", "expected"),
    [
        (Orders(over=True), READY, Step.LEAVE),
        (Orders(), Standing("me"), Step.CLAIM),
        (Orders(), Standing("me", rank=0), Step.WAIT),
        (Orders(0), Standing("me", rank=0), Step.PREPARE),
        (Orders(1), READY, Step.PREPARE),
        (Orders(0), READY, Step.WAIT),
        (Orders(0, WITH_ME), READY, Step.START),
        (Orders(0, Roster(1, 0, (OTHER, ME))), READY, Step.WAIT),
        (Orders(0, WITH_ME, End(0)), READY, Step.REPORT),
        (Orders(0, WITH_ME), Standing("me", 0, 0, started=True, running=True), Step.WAIT),
        (Orders(0, WITH_ME, End(0)), Standing("me", 0, 0, started=True, running=True), Step.STOP),
        (Orders(0, WITH_ME), Standing("me", 0, 0, started=True), Step.REPORT),
        (Orders(0, WITH_ME, End(0)), Standing("me", 0, 0, started=True), Step.REPORT),
        (Orders(0, WITH_ME), Standing("me", 0, 0, started=True, reported=True), Step.WAIT),
        (Orders(1), Standing("me", 0, 0, started=True, running=True), Step.PREPARE),
    ],
)
def test_each_standing_has_one_next_step(orders: Orders, mine: Standing, expected: Step) -> None:
    """The table of a worker's life."""
    assert expected == next_step(orders, mine)


def test_one_beside_the_gang_starts_when_it_is_told() -> None:
    """Its rank is none of the gang's, who run already."""
    mine = Standing("me", rank=2, generation=0)
    gang = Roster(1, 0, (OTHER, OTHER))
    assert Step.WAIT == next_step(Orders(0, gang), mine)
    assert Step.START == next_step(Orders(0, replace(gang, beside=ME)), mine)


@given(
    orders=st.builds(
        Orders,
        generation=st.none() | st.integers(0, 2),
        roster=st.sampled_from([None, WITH_ME, Roster(1, 0, (OTHER, ME))]),
        end=st.sampled_from([None, End(0)]),
        over=st.booleans(),
    ),
    mine=st.builds(
        Standing,
        id=st.just("me"),
        rank=st.none() | st.integers(0, 1),
        generation=st.none() | st.integers(0, 2),
        started=st.booleans(),
        running=st.booleans(),
        reported=st.booleans(),
    ),
)
def test_a_process_starts_only_for_who_is_on_the_roster_of_now(
    orders: Orders, mine: Standing
) -> None:
    """Not for a generation that is over, or that this worker is not ready for, and never twice."""
    if next_step(orders, mine) is not Step.START:
        return
    assert orders.roster is not None
    assert mine.rank is not None
    assert orders.roster.members[mine.rank].id == "me"
    assert (orders.generation, None, False) == (mine.generation, orders.end, orders.over)
    assert not mine.running
    assert not mine.started
