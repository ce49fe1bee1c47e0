from audioloom_yarn_launcher.coordinator.failure_detector import Heartbeats
from audioloom_yarn_launcher.coordinator.transitions import frozen
from audioloom_yarn_launcher.rendezvous.messages import Exit, Member, Membership, Reports
from hypothesis import given
from hypothesis import strategies as st


def hear(*looks: tuple[float, dict[str, str]]) -> Heartbeats:
    silence = Heartbeats(0.0)
    for at, counts in looks:
        silence = silence.observe(counts, at)
    return silence


def test_who_says_the_same_again_is_silent() -> None:
    """Counted by the one who listens; who says something new, or has just come, is not."""
    silence = hear((1.0, {"one": "7", "two": "3"}), (2.5, {"one": "7", "two": "4", "three": "0"}))
    assert {"one": 1.5, "two": 0.0, "three": 0.0} == silence.seconds


def test_who_listens_may_have_been_stopped_itself() -> None:
    """What it did not watch does not count; nobody is frozen because of that."""
    silence = hear((1.0, {"one": "7"}), (3600.0, {"one": "7"}))
    assert {"one": 2.0} == silence.seconds


def test_who_is_gone_is_forgotten() -> None:
    """Its keys tell."""
    assert {} == hear((1.0, {"one": "7"}), (2.0, {})).seconds


@given(st.lists(st.tuples(st.floats(0, 100), st.sampled_from("ab")), max_size=20))
def test_a_count_that_changes_ends_the_silence(looks: list[tuple[float, str]]) -> None:
    """And silence is never longer than the time that has passed."""
    at, silence = 0.0, Heartbeats(0.0)
    for passed, count in looks:
        at += passed
        before = silence
        silence = silence.observe({"one": count}, at)
        assert silence.seconds["one"] <= at
        if before.counts.get("one") != count:
            assert 0.0 == silence.seconds["one"]


def test_it_is_time_to_look_once_a_second() -> None:
    """However often something else happens."""
    assert [False, True] == [Heartbeats(5.0).due(at) for at in (5.9, 6.0)]


def test_frozen_are_those_of_the_gang_that_have_work_and_say_nothing() -> None:
    """Who has said how its process ended need say no more."""
    membership = Membership(1, 0, tuple(Member(each, f"{each}:1", each, 1) for each in "abc"))
    silence = Heartbeats(0.0, {}, {"a": 10.0, "b": 9.9, "c": 60.0, "d": 60.0})
    done = Reports(exits={2: Exit("c", code=0, stopped=False)})
    assert {0: 10.0} == frozen(membership, done, silence.silent_for(10.0))
    assert {} == frozen(membership, Reports(), Heartbeats(0.0).silent_for(10.0))
