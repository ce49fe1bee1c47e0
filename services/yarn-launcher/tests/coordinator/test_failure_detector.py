from audioloom_yarn_launcher.coordinator.failure_detector import FailureDetector
from audioloom_yarn_launcher.coordinator.transitions import frozen
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.messages import Exit, Member, Membership, Reports
from hypothesis import given
from hypothesis import strategies as st


class Listener:
    """A detector to which every worker is silent at once, and its clock."""

    def __init__(self) -> None:
        self._now, self._store = 0.0, MemoryStore()
        self._detector = FailureDetector(self._store, "beat/", 0.0, clock=lambda: self._now)

    def hear(self, at: float, counts: dict[str, str]) -> dict[str, float]:
        """The seconds of silence of each worker, after a look that found these counts."""
        gone = [Put(key, None) for key in self._store.get_prefix("beat/")]
        said = [Put(f"beat/{worker}", count) for worker, count in counts.items()]
        self._store.transaction([], [*gone, *said])
        self._now = at
        return self._detector.frozen()


def test_who_says_the_same_again_is_silent() -> None:
    """Counted by the one who listens; who says something new, or has just come, is not."""
    listener = Listener()
    listener.hear(1.0, {"one": "7", "two": "3"})
    silence = listener.hear(2.5, {"one": "7", "two": "4", "three": "0"})
    assert {"one": 1.5, "two": 0.0, "three": 0.0} == silence


def test_who_listens_may_have_been_stopped_itself() -> None:
    """What it did not watch does not count; nobody is frozen because of that."""
    listener = Listener()
    listener.hear(1.0, {"one": "7"})
    assert {"one": 2.0} == listener.hear(3600.0, {"one": "7"})


def test_who_is_gone_is_forgotten() -> None:
    """Its keys tell."""
    listener = Listener()
    listener.hear(1.0, {"one": "7"})
    assert {} == listener.hear(2.0, {})


@given(st.lists(st.tuples(st.floats(1, 100), st.sampled_from("ab")), max_size=20))
def test_a_count_that_changes_ends_the_silence(looks: list[tuple[float, str]]) -> None:
    """And silence is never longer than the time that has passed."""
    at, before, listener = 0.0, "", Listener()
    for passed, count in looks:
        at += max(passed, 1.001)  # rounding of the sum never makes it less than a look
        silence = listener.hear(at, {"one": count})
        assert silence["one"] <= at
        if before != count:
            assert 0.0 == silence["one"]
        before = count


def test_it_is_time_to_look_once_a_second() -> None:
    """However often something else happens."""
    listener = Listener()
    assert [{}, {"one": 0.0}] == [listener.hear(at, {"one": "7"}) for at in (0.9, 1.0)]


def test_frozen_are_those_of_the_gang_that_have_work_and_say_nothing() -> None:
    """Who has said how its process ended need say no more."""
    membership = Membership(1, 0, tuple(Member(each, f"{each}:1", each, 1) for each in "abc"))
    silent = {"a": 10.0, "c": 60.0, "d": 60.0}
    done = Reports(exits={2: Exit("c", code=0, stopped=False)})
    assert {0: 10.0} == frozen(membership, done, silent)
    assert {} == frozen(membership, Reports(), {})
