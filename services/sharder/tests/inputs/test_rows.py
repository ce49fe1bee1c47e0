from __future__ import annotations

import pyarrow as pa
import pytest
from audioloom_sharder.inputs.rows import take
from hypothesis import given
from hypothesis import strategies as st
from sharder_rules import rules_of

RATE = 100
ROW = st.tuples(
    st.sampled_from(["a", "b", "", None]),
    st.lists(st.sampled_from(["silent", "truncated", "x"]), max_size=3),
    st.integers(0, 1000),
)
SCHEMA = pa.schema(
    [("label", pa.string()), ("flags", pa.list_(pa.string())), ("valid_samples", pa.int32())]
)


def table(rows: list[tuple]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(each, field.type) for each, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def test_without_filters_everything_is_taken() -> None:
    """And nothing is said of it."""
    taken, left_out = take(table([(None, ["silent"], 0), ("a", [], 5)]), rules_of())
    assert [True, True] == taken.tolist()
    assert {} == left_out


@given(
    st.lists(ROW, max_size=20),
    st.none() | st.lists(st.sampled_from(["a", "b", "c"]), unique=True, min_size=1).map(tuple),
    st.lists(st.sampled_from(["silent", "truncated", "?"]), unique=True).map(tuple),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.integers(1, 5),
)
def test_each_row_is_taken_or_left_out_for_its_first_reason(
    rows: list[tuple], labels: tuple | None, flags: tuple, seconds: float, chunk: int
) -> None:
    """As a plain loop over the rows would; however the table is cut into chunks."""
    expected, reasons = [], []
    for label, has, samples in rows:
        reason = next((f"flag {flag}" for flag in flags if flag in has), None)
        if labels is not None and label not in labels:
            reason = "another label"
        if reason is None and samples < seconds * RATE:
            reason = "too short"
        expected.append(reason is None)
        reasons.append(reason)
    parts = [table(rows[at : at + chunk]) for at in range(0, len(rows), chunk)] or [table([])]
    rules = rules_of(only_labels=labels, without_flags=flags, min_seconds=seconds, sample_rate=RATE)
    taken, left_out = take(pa.concat_tables(parts), rules)
    assert expected == taken.tolist()
    assert {why: reasons.count(why) for why in left_out} == left_out
    assert len(rows) == sum(expected) + left_out.total()


def test_a_batch_that_is_a_slice_is_cut_right() -> None:
    """Arrow's slices share their memory with what lies before them."""
    whole = table([("a", ["silent"], 1), ("b", [], 2), ("a", ["silent"], 3), ("a", [], 4)])
    (batch,) = whole.slice(1, 3).to_batches()
    taken, left_out = take(batch, rules_of(only_labels=("a",), without_flags=("silent",)))
    assert [False, False, True] == taken.tolist()
    assert {"another label": 1, "flag silent": 1} == left_out


@pytest.mark.parametrize(
    "filters",
    [{"only_labels": ("z",)}, {"without_flags": ("silent",), "min_seconds": 9.0}],
)
def test_what_was_asked_for_is_told_even_if_it_met_nothing(filters: dict[str, object]) -> None:
    """A flag that is misspelt leaves nothing out, and the count says so."""
    _, left_out = take(table([]), rules_of(**filters))
    assert 0 == left_out.total()
    assert left_out
