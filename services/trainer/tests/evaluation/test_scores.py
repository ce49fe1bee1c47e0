from __future__ import annotations

import numpy as np
import pytest
from audioloom_trainer.evaluation.scores import (
    BINS,
    MOST_IN_TABLE,
    WORST,
    Accumulator,
    baselines,
    binned,
    calibration,
    class_table,
    count_by_class,
    share_of_right,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

CONFIDENCE = arrays(np.float32, st.integers(1, 60), elements=st.floats(0, 1, width=32))


def test_guessing_nothing_is_no_score() -> None:
    """Neither an empty split nor an unknown vocabulary can be guessed at."""
    assert {} == baselines({}, {"a": 3}) == baselines({"a": 3}, {})


def test_the_majority_is_that_of_the_training_split() -> None:
    """What the scored split is made of cannot be known beforehand."""
    found = baselines({"a": 1, "b": 5, "c": 0}, {"a": 8, "b": 2})
    assert {"chance": 1 / 3, "majority": 0.2} == found


def test_of_equal_labels_the_first_is_the_favourite() -> None:
    """So that the number does not depend on the order of a dictionary."""
    assert 0.75 == baselines({"b": 2, "a": 2}, {"a": 3, "b": 1})["majority"]


def test_accuracy_is_the_diagonal() -> None:
    """Of nothing it is 0."""
    assert 0.75 == share_of_right(count_by_class(np.array([[2, 1], [0, 1]])))
    assert 0 == share_of_right(np.zeros((3, 2), np.int64))


def test_a_share_of_nothing_is_null() -> None:
    """A class that never came, or was never answered, has no recall or precision."""
    by_class = count_by_class(np.array([[2, 1, 0], [0, 0, 0], [1, 0, 0]]))
    rows = class_table(by_class, ("a", "b", "c"))
    assert [
        {"label": "a", "records": 3, "precision": 2 / 3, "recall": 2 / 3},
        {"label": "b", "records": 0, "precision": 0.0, "recall": None},
        {"label": "c", "records": 1, "precision": None, "recall": 0.0},
    ] == rows


def test_a_bin_has_its_upper_edge() -> None:
    """As the source has it; what is sure of nothing is in the first bin."""
    edges = np.array([0.0, 0.2, 0.2001, 1.0], np.float32)
    found = binned(edges, np.array([True, True, False, True]))
    assert {0: 1, 3: 2, 14: 1} == {int(b): int(found[b, 0]) for b in np.flatnonzero(found[:, 0])}


def test_a_bin_of_nothing_has_no_means() -> None:
    """Null, which is not the same as wrong."""
    found = calibration(binned(np.array([1.0], np.float32), np.array([True])))
    assert {"records": 0, "confidence": None, "accuracy": None} == found["bins"][0]
    assert {"records": 1, "confidence": 1.0, "accuracy": 1.0} == found["bins"][-1]
    assert 0.0 == found["expected_calibration_error"]


def test_the_error_is_the_gap_weighed_by_records() -> None:
    """Three records that are sure by 0.75, one of them right; one that is sure and right."""
    confidence = np.array([0.75, 0.75, 0.75, 1.0], np.float32)
    found = calibration(binned(confidence, np.array([True, False, False, True])))
    assert found["expected_calibration_error"] == pytest.approx(3 / 4 * (0.75 - 1 / 3))


@given(CONFIDENCE)
def test_no_order_and_no_division_matters(confidence: np.ndarray) -> None:
    """Whoever counts which record: the same numbers to the bit."""
    rng = np.random.default_rng(len(confidence))
    right = rng.integers(0, 2, len(confidence)).astype(bool)
    order, cut = rng.permutation(len(confidence)), len(confidence) // 3
    parts = (order[:cut], order[cut:])
    added = sum(binned(confidence[part], right[part]) for part in parts)
    assert binned(confidence, right).tolist() == np.asarray(added).tolist()


@given(CONFIDENCE)
def test_it_is_the_sum_over_the_bins_of_the_source(confidence: np.ndarray) -> None:
    """Against the definition, bin by bin."""
    right = np.arange(len(confidence)) % 2 == 0
    expected = 0.0
    for b in range(BINS):
        exact = confidence.astype(np.float64)
        inside = (exact > b / BINS) & (exact <= (b + 1) / BINS)
        if b == 0:
            inside |= exact == 0
        if inside.any():
            gap = abs(right[inside].mean() - exact[inside].mean())
            expected += inside.mean() * gap
    found = calibration(binned(confidence, right))["expected_calibration_error"]
    assert expected == pytest.approx(found, abs=1e-6)


CLASSES = 3


def answers(count: int, seed: int = 0) -> np.ndarray:
    """What a model might have said: many records have the same loss."""
    rng = np.random.default_rng(seed)
    said = rng.integers(0, CLASSES, (count, 2))
    return np.column_stack([said, rng.integers(0, 9, count), rng.random(count)]).astype(np.float32)


def as_lists(tally: Accumulator) -> list[object]:
    table = None if tally.confusion is None else tally.confusion.tolist()
    counts = [tally.by_class.tolist(), table, tally.bins.tolist(), tally.improper]
    return [*counts, tally.worst.tolist()]


def test_outputs_that_are_no_probabilities_are_counted_apart() -> None:
    """The class said is known, how sure it is and what it lost are not."""
    tally = Accumulator(CLASSES)
    tally.add(np.arange(2), np.array([[0, 1, np.nan, np.nan], [2, 2, 0.5, 0.6]], np.float32))
    assert (1, 1) == (tally.improper, int(tally.bins[:, 0].sum()))
    assert [[1, 0, 1], [0, 1, 1], [0, 0, 1]] == tally.by_class.tolist()
    assert tally.confusion is not None
    assert [[0, 1, 0], [0, 0, 0], [0, 0, 1]] == tally.confusion.tolist()
    assert [1.0] == tally.worst[:, 0].tolist()


def test_of_equal_losses_the_first_records_are_kept() -> None:
    """So the list depends on no order of counting; differences of rounding are none."""
    tally = Accumulator(CLASSES)
    rows = np.tile(np.array([[0, 1, 2.0, 0.9]], np.float32), (WORST + 5, 1))
    rows[:, 2] += np.linspace(0, 1e-6, len(rows), dtype=np.float32)
    tally.add(np.arange(len(rows))[::-1], rows)
    assert list(range(WORST)) == tally.worst[:, 0].tolist()


def test_of_too_many_classes_each_is_counted_without_a_matrix() -> None:
    """A cell for each pair of them would take more memory than the training."""
    assert (MOST_IN_TABLE,) * 2 == np.shape(Accumulator(MOST_IN_TABLE).confusion)
    many = MOST_IN_TABLE + 1
    tally = Accumulator(many)
    tally.add(np.arange(2), np.array([[0, many - 1, 0.5, 0.6], [2, 2, 0.5, 0.6]], np.float32))
    assert None is tally.confusion
    assert [2, 2, 1] == tally.by_class.sum(axis=1).tolist()
    assert 0.5 == share_of_right(tally.by_class)


@given(
    st.integers(0, 80),
    st.integers(1, 4),
    st.integers(1, 9),
    st.sampled_from([3, 1 + MOST_IN_TABLE]),
)
def test_any_number_of_workers_counts_the_same(
    count: int, workers: int, block: int, classes: int
) -> None:
    """In blocks of any length, shared out in any way, to the bit."""
    rows, positions = answers(count), np.arange(count)
    one = Accumulator(classes)
    one.add(positions, rows)
    assert one.confusion is None or (one.by_class == count_by_class(one.confusion)).all()
    tallies = [Accumulator(classes) for _ in range(workers)]
    for start in range(0, count, block):
        part = slice(start, start + block)
        tallies[(start // block) % workers].add(positions[part], rows[part])
    total = sum(tally.parts(rank, workers) for rank, tally in enumerate(tallies))
    assert as_lists(one) == as_lists(Accumulator.whole(classes, np.asarray(total)))
