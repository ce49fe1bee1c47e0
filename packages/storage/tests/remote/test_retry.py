from __future__ import annotations

import pytest
from audioloom_storage import NotFound, Unavailable
from audioloom_storage.remote import retry
from audioloom_storage.remote.retry import Busy, Outage, Retry


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.3)


class Attempts:
    """Fails so many times."""

    def __init__(self, failures: int, kind: type[Exception]) -> None:
        self.failures, self.kind, self.made = failures, kind, 0

    def __call__(self) -> str:
        self.made += 1
        if self.made <= self.failures:
            raise self.kind("no")
        return "yes"


@pytest.mark.parametrize("kind", [Outage, Busy])
def test_who_never_answered_is_not_waited_for(kind: type[Unavailable]) -> None:
    """It may be misspelt."""
    attempts = Attempts(1, kind)
    with pytest.raises(kind):
        Retry().run(attempts)
    assert 1 == attempts.made


@pytest.mark.parametrize("kind", [Outage, Busy])
def test_who_answered_before_is_waited_for(
    kind: type[Unavailable], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal is an answer too."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 60)
    waiting = Retry()
    with pytest.raises(NotFound):
        waiting.run(Attempts(1, NotFound))
    assert "yes" == waiting.run(Attempts(2, kind))


def test_refusals_are_not_repeated() -> None:
    """Neither are failures of another kind."""
    for kind in (NotFound, Unavailable, ValueError):
        attempts = Attempts(1, kind)
        with pytest.raises(kind):
            Retry().run(attempts)
        assert 1 == attempts.made


def test_the_time_runs_over_all_calls() -> None:
    """After it, each call is made once, until one succeeds."""
    waiting = Retry()
    waiting.answered()
    with pytest.raises(Outage):
        waiting.run(Attempts(99, Outage))
    late = Attempts(99, Outage)
    with pytest.raises(Outage):
        waiting.run(late)
    assert 1 == late.made
    waiting.answered()
    assert "yes" == waiting.run(Attempts(1, Outage))


def test_successes_in_between_do_not_prolong_it() -> None:
    """The NameNode answers, and the block that is missing stays so."""
    waiting = Retry()

    def attempt() -> None:
        waiting.answered()
        raise Outage("no")

    with pytest.raises(Outage):
        waiting.run(attempt)
