from __future__ import annotations

from audioloom_trainer.reporting.tables import table


def test_numbers_stand_to_the_right() -> None:
    """Words to the left, and no line ends in blanks."""
    rows = [("train", "1,024", "x"), ("val", "7", "")]
    assert "split  steps  what\ntrain  1,024  x\nval        7" == table(
        ("split", "steps", "what"), rows
    )


def test_short_rows_are_filled() -> None:
    """A run that is not finished knows less."""
    assert "a  b\n1" == table(("a", "b"), [("1",)])


def test_no_rows_are_the_head() -> None:
    """Nothing to be wide for."""
    assert "a  bb" == table(("a", "bb"), [])
