from __future__ import annotations

from audioloom_trainer.reporting.report import most_confused

MATRIX = [[90, 0, 0, 1], [0, 5, 7, 0], [0, 2, 9, 0], [0, 0, 0, 99]]


def test_few_classes_are_all_looked_at() -> None:
    """In their own order."""
    assert [0, 1, 2, 3] == most_confused(MATRIX, 50)


def test_of_many_those_in_most_mistakes_are() -> None:
    """Said wrongly or said instead; records that are right do not count."""
    assert [1, 2] == most_confused(MATRIX, 2)
    assert [0, 1, 2] == most_confused(MATRIX, 3)
