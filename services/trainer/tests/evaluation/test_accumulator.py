from __future__ import annotations

import numpy as np
from audioloom_trainer.evaluation.accumulator import WORST, Accumulator
from hypothesis import given
from hypothesis import strategies as st

CLASSES = 3


def answers(count: int, seed: int = 0) -> np.ndarray:
    """What a model might have said: many records have the same loss."""
    rng = np.random.default_rng(seed)
    said = rng.integers(0, CLASSES, (count, 2))
    return np.column_stack([said, rng.integers(0, 9, count), rng.random(count)]).astype(np.float32)


def as_lists(tally: Accumulator) -> list[object]:
    return [tally.confusion.tolist(), tally.bins.tolist(), tally.improper, tally.worst.tolist()]


def test_outputs_that_are_no_probabilities_are_counted_apart() -> None:
    """The class said is known, how sure it is and what it lost are not."""
    tally = Accumulator(CLASSES)
    tally.add(np.arange(2), np.array([[0, 1, np.nan, np.nan], [2, 2, 0.5, 0.6]], np.float32))
    assert (1, 1) == (tally.improper, int(tally.bins[:, 0].sum()))
    assert [[0, 1, 0], [0, 0, 0], [0, 0, 1]] == tally.confusion.tolist()
    assert [1.0] == tally.worst[:, 0].tolist()


def test_of_equal_losses_the_first_records_are_kept() -> None:
    """So the list depends on no order of counting; differences of rounding are none."""
    tally = Accumulator(CLASSES)
    rows = np.tile(np.array([[0, 1, 2.0, 0.9]], np.float32), (WORST + 5, 1))
    rows[:, 2] += np.linspace(0, 1e-6, len(rows), dtype=np.float32)
    tally.add(np.arange(len(rows))[::-1], rows)
    assert list(range(WORST)) == tally.worst[:, 0].tolist()


@given(st.integers(0, 80), st.integers(1, 4), st.integers(1, 9))
def test_any_number_of_workers_counts_the_same(count: int, workers: int, block: int) -> None:
    """In blocks of any length, shared out in any way, to the bit."""
    rows, positions = answers(count), np.arange(count)
    one = Accumulator(CLASSES)
    one.add(positions, rows)
    tallies = [Accumulator(CLASSES) for _ in range(workers)]
    for start in range(0, count, block):
        part = slice(start, start + block)
        tallies[(start // block) % workers].add(positions[part], rows[part])
    total = sum(tally.parts(rank, workers) for rank, tally in enumerate(tallies))
    assert as_lists(one) == as_lists(Accumulator.whole(CLASSES, np.asarray(total)))
