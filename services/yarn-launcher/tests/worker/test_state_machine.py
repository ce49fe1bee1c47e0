from dataclasses import replace

import pytest
from audioloom_yarn_launcher.rendezvous.messages import Member, Membership, Orders
from audioloom_yarn_launcher.worker.state_machine import Action, State, next_action
from hypothesis import given
from hypothesis import strategies as st

ME = Member("me", "127.0.0.1:1", "here", 1)
OTHER = Member("other", "127.0.0.1:2", "here", 2)
WITH_ME = Membership(1, 0, (ME, OTHER))
READY = State("me", rank=0, generation=0)


@pytest.mark.parametrize(
    ("orders", "mine", "expected"),
    [
        (Orders(over=True), READY, Action.LEAVE),
        (Orders(), State("me"), Action.CLAIM),
        (Orders(), State("me", rank=0), Action.WAIT),
        (Orders(0), State("me", rank=0), Action.PREPARE),
        (Orders(1), READY, Action.PREPARE),
        (Orders(0), READY, Action.WAIT),
        (Orders(0, WITH_ME), READY, Action.START),
        (Orders(0, Membership(1, 0, (OTHER, ME))), READY, Action.WAIT),
        (Orders(0, WITH_ME, 0.0), READY, Action.REPORT),
        (Orders(0, WITH_ME), State("me", 0, 0, started=True, running=True), Action.WAIT),
        (Orders(0, WITH_ME, 0.0), State("me", 0, 0, started=True, running=True), Action.STOP),
        (Orders(0, WITH_ME), State("me", 0, 0, started=True), Action.REPORT),
        (Orders(0, WITH_ME, 0.0), State("me", 0, 0, started=True), Action.REPORT),
        (Orders(0, WITH_ME), State("me", 0, 0, started=True, reported=True), Action.WAIT),
        (Orders(1), State("me", 0, 0, started=True, running=True), Action.PREPARE),
    ],
)
def test_each_standing_has_one_next_step(orders: Orders, mine: State, expected: Action) -> None:
    """The table of a worker's life."""
    assert expected == next_action(orders, mine)


def test_a_sidecar_starts_when_it_is_told() -> None:
    """Its rank is none of the gang's, who run already."""
    mine = State("me", rank=2, generation=0)
    gang = Membership(1, 0, (OTHER, OTHER))
    assert Action.WAIT == next_action(Orders(0, gang), mine)
    assert Action.START == next_action(Orders(0, replace(gang, sidecar=ME)), mine)


@given(
    orders=st.builds(
        Orders,
        generation=st.none() | st.integers(0, 2),
        membership=st.sampled_from([None, WITH_ME, Membership(1, 0, (OTHER, ME))]),
        end=st.sampled_from([None, 0.0]),
        over=st.booleans(),
    ),
    mine=st.builds(
        State,
        id=st.just("me"),
        rank=st.none() | st.integers(0, 1),
        generation=st.none() | st.integers(0, 2),
        started=st.booleans(),
        running=st.booleans(),
        reported=st.booleans(),
    ),
)
def test_a_process_starts_only_for_who_is_in_the_current_membership(
    orders: Orders, mine: State
) -> None:
    """Not for a generation that is over, or that this worker is not ready for, and never twice."""
    if next_action(orders, mine) is not Action.START:
        return
    assert orders.membership is not None
    assert mine.rank is not None
    assert orders.membership.members[mine.rank].id == "me"
    assert (orders.generation, None, False) == (mine.generation, orders.end, orders.over)
    assert not mine.running
    assert not mine.started
