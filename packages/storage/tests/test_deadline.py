import threading

import pytest
from audioloom_storage.deadline import within


def test_who_does_not_answer_is_left() -> None:
    """Who asks goes on; the thread keeps nobody from ending."""
    go = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        within(0.05, go.wait)
    go.set()


def test_an_answer_or_an_error_comes_as_it_is() -> None:
    """As if it had been asked here."""
    assert 3 == within(60, lambda: 3)
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 // 0)
