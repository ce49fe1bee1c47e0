from typing import Any

import pytest
from audioloom_yarn_launcher.monitoring.root_cause import (
    AttemptFacts,
    FailureCause,
    WorkerFacts,
    alike,
    rank_attempt,
    root_cause,
    workers_text,
)
from audioloom_yarn_launcher.rendezvous.causes import Cause
from hypothesis import given
from hypothesis import strategies as st

MEMORY = (
    "its container on x was killed for memory (33.0 GB of 32 GB physical memory used):"
    " ask for more with --memory (or `memory` of its role)"
)


def facts(rank: int, end: str, code: int | None = None, **more: Any) -> WorkerFacts:
    signal = -code if code is not None and code < 0 else None
    return WorkerFacts(rank, "x", end, None if signal else code, signal, **more)


def ranked(
    *workers: WorkerFacts,
    kind: str = "exit",
    text: str = "",
    rank: int | None = None,
    number: int = 1,
    exit_code: int = 75,
    **more: Any,
) -> FailureCause:
    cause = Cause(kind, text, exit_code, rank)
    found = rank_attempt(AttemptFacts(number, cause, workers, **more))
    assert found is not None
    return found


def test_a_container_over_its_memory_is_told_with_its_figures() -> None:
    """And who stopped because of it, in one sentence."""
    others = [facts(rank, "stopped", -9) for rank in range(3)]
    found = ranked(*others, facts(3, "lost", cause=MEMORY, reason="memory"), kind="lost", rank=3)
    text = f"worker 3 on x was lost: {MEMORY.replace(' on x', '')}"
    assert f"{text}; workers 0-2 stopped because of it" == found.sentence
    assert "memory" == found.kind


@pytest.mark.parametrize(
    ("workers", "recorded", "rank", "kind"),
    [
        ([facts(0, "failed", 1), facts(1, "failed", 1)], 1, 1, "failed"),
        ([facts(0, "failed", 75), facts(1, "failed", 1)], 0, 1, "failed"),
        ([facts(0, "failed", -6), facts(1, "failed", 3)], 0, 1, "failed"),
        ([facts(0, "failed", 1), facts(1, "failed", -9)], 0, 1, "killed"),
        ([facts(0, "failed", 1), facts(1, "lost", cause="gone")], 0, 1, "killed"),
        ([facts(0, "failed", -9), facts(1, "failed", 65)], 0, 1, "repeats"),
        # A code says less than words: one says itself that it is an echo, the other that it is not.
        (
            [
                facts(0, "failed", 1, error="UnavailableError: Connection reset by peer"),
                facts(1, "failed", 1, error="ValueError: no"),
            ],
            *(0, 1, "failed"),
        ),
        (
            [facts(0, "failed", 75, error="TryAgain: no answer"), facts(1, "failed", -6)],
            *(1, 0, "failed"),
        ),
        # Nobody saw the end of the one that is missed, and it was well when it was stopped.
        ([facts(0, "failed", 75, missed=(1,)), facts(1, "stopped", -9)], 0, 1, "frozen"),
        # It failed by itself, and others were quicker to end.
        (
            [facts(0, "failed", 75, missed=(1,)), facts(1, "stopped", -9, error="OSError: 5")],
            *(0, 1, "failed"),
        ),
    ],
)
def test_the_first_cause_is_ranked_above_its_echoes(
    workers: list[WorkerFacts], recorded: int, rank: int, kind: str
) -> None:
    """By what is known afterwards, then by what the coordinator saw first."""
    found = ranked(*workers, kind="exit", rank=recorded)
    assert (rank, kind) == (found.rank, found.kind)


@pytest.mark.parametrize(
    ("worker", "kind"),
    [
        (facts(1, "failed", -9, cause="was stopped for 12 s", reason="frozen"), "frozen"),
        (facts(1, "lost", cause="no heartbeat for 30 s", reason="frozen"), "frozen"),
        (facts(1, "lost", cause="its node x was lost", reason="node-lost"), "node"),
        (facts(1, "lost", cause="its container on x was killed: by you"), "killed"),
    ],
)
def test_what_there_is_to_do_follows_from_what_is_told(worker: WorkerFacts, kind: str) -> None:
    """The words of the record are kept."""
    found = ranked(facts(0, "failed", 75), worker, kind="lost", rank=1)
    assert (1, kind) == (found.rank, found.kind)
    assert worker.cause.replace(" on x", "") in found.text.replace(" on x", "")


def test_a_loss_that_would_repeat_is_a_verdict() -> None:
    """As a container that its node could not make."""
    found = ranked(facts(0, "lost", cause="damaged"), kind="lost", rank=0, exit_code=78)
    assert "repeats" == found.kind


def test_a_limit_is_the_cause_and_not_what_it_ended() -> None:
    """Nobody failed: the time was over."""
    found = ranked(facts(0, "failed", 75), kind="execution", text="it worked too long")
    assert "execution" == found.kind


def test_a_peer_that_is_missed_is_named_with_who_noticed() -> None:
    """The loudest is not the cause."""
    found = ranked(facts(0, "failed", 75, missed=(1,)), facts(1, "stopped", -9), rank=0)
    assert (
        "worker 1 on x did not answer any more, frozen or cut off from the others:"
        " worker 0 noticed it; worker 0 failed because of it" == found.sentence
    )


def test_when_the_recorder_died_the_workers_are_heard() -> None:
    """A program that failed by itself explains more than the launcher's loss after it."""
    workers = (
        facts(0, "", error="PeerLost: a peer was lost", missed=(1,)),
        facts(1, "", error="ValueError: no such label"),
        facts(2, ""),
    )
    found = ranked(*workers, kind="launcher-lost", text="the launcher was lost: p is gone")
    assert "the program of worker 1 on x failed: ValueError: no such label" == found.text
    assert (
        "worker 0 failed because of it",
        "then the launcher was lost: p is gone",
        "worker 2 ended with it, unseen",
    ) == found.echoes


def test_when_the_recorder_died_alone_that_is_the_cause() -> None:
    """Its workers miss each other while they die with it; YARN says why it did."""
    workers = (facts(0, "", error="PeerLost: a peer was lost", missed=(1,)), facts(1, ""))
    found = ranked(
        *workers, kind="launcher-lost", text="gone", outside="the master was killed for memory"
    )
    assert "the master was killed for memory" == found.text
    assert "launcher" == found.kind


def test_what_a_person_did_is_the_cause() -> None:
    """Whatever the processes ended with meanwhile."""
    found = ranked(facts(0, "failed", 65), kind="interrupted", text="the launcher got SIGINT")
    assert "interrupted" == found.kind


def test_of_all_attempts_the_last_counts_unless_it_only_followed() -> None:
    """Not all came because one had been lost."""
    lost = ranked(facts(0, "lost", cause="gone"), kind="lost", rank=0)
    failed = ranked(facts(0, "failed", 3), number=3, kind="exit", rank=0)
    assert root_cause([]) is None
    for kind in ("allocation", "registration"):
        short = ranked(number=2, kind=kind, text="1 of 2 workers came")
        assert lost == root_cause([lost, short])
        assert failed == root_cause([lost, short, failed])
        assert short == root_cause([short])
    late = ranked(facts(0, "stopped", error="x"), number=2, kind="execution", text="too long")
    assert late == root_cause([lost, late])
    assert ("execution", "too long") == (late.kind, late.text)


def test_attempts_that_ended_alike_are_told_together() -> None:
    """The same worker in the same way."""
    three = [ranked(facts(1, "failed", 3), number=n, kind="exit", rank=1) for n in (1, 2, 3)]
    assert (1, 2) == alike(three, three[-1])


def test_an_attempt_without_fault_has_no_cause() -> None:
    """Nor has one that goes on."""
    assert rank_attempt(AttemptFacts(1, workers=(facts(0, "finished", 0),))) is None
    assert rank_attempt(AttemptFacts(1)) is None


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([3], "worker 3"),
        ([0, 1], "workers 0 and 1"),
        ([2, 0, 1], "workers 0-2"),
        ([0, 1, 2, 5], "workers 0-2 and 5"),
        ([0, 2, 4, 5, 6], "workers 0, 2 and 4-6"),
    ],
)
def test_workers_are_counted_as_people_do(ranks: list[int], text: str) -> None:
    """Ranges instead of a hundred numbers."""
    assert text == workers_text(ranks)


ends = st.builds(
    facts,
    st.integers(0, 3),
    st.sampled_from(["finished", "failed", "stopped", "lost", "not-started", ""]),
    st.sampled_from([0, 1, 3, 65, 75, -6, -9]),
    error=st.sampled_from(["", "ValueError: no", "PeerLost: gone"]),
)


@given(
    st.lists(ends, max_size=4, unique_by=lambda each: each.rank),
    st.sampled_from(["exit", "lost", "launcher-lost", "registration", "interrupted", "new"]),
)
def test_whatever_is_on_record_has_one_sentence(workers: list[WorkerFacts], kind: str) -> None:
    """And a cause that nobody knows by name is still told."""
    found = rank_attempt(AttemptFacts(1, Cause(kind, "what is on record", 75), tuple(workers)))
    assert found is not None
    assert "\n" not in found.sentence
    assert found.text
