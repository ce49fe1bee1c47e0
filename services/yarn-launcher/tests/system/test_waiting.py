import threading

import pytest
from audioloom_yarn_launcher.system.waiting import AT_ONCE, ahead


def test_an_error_is_raised_in_its_turn() -> None:
    """After the answers before it."""
    answers = ahead(lambda number: 6 // number, [3, 2, 0, 1])
    assert [2, 3] == [next(answers), next(answers)]
    with pytest.raises(ZeroDivisionError):
        next(answers)


def test_many_are_at_work_at_once_and_their_answers_stay_in_order() -> None:
    """Nobody goes on before all of them have begun."""
    together = threading.Barrier(AT_ONCE, timeout=60)

    def meet(number: int) -> int:
        together.wait()
        return number

    assert [*range(2 * AT_ONCE)] == [*ahead(meet, range(2 * AT_ONCE))]


def test_work_is_not_far_ahead_of_its_reader() -> None:
    """The answers may be large."""
    begun: list[int] = []
    answers = ahead(begun.append, range(10 * AT_ONCE))
    next(answers)
    assert len(begun) <= AT_ONCE + 1
    answers.close()
