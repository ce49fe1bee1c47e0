"""What a worker tells of its process: the words are a program's, and nothing of them is trusted."""

import json

import pytest
from audioloom_yarn_launcher.rendezvous.status import (
    BLOCK,
    MOST_CLASSES,
    MOST_PEERS,
    WORDS,
    merged,
    status_key,
    status_prefixes,
)
from hypothesis import given
from hypothesis import strategies as st

MOST_BYTES = 6000

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


def test_the_newest_value_of_each_field_is_kept() -> None:
    """Unknown fields are left out."""
    first = merged({}, {"event": "step", "step": 1, "loss": 0.5, "colour": "red"})
    assert {"event": "step", "step": 1, "loss": 0.5} == first
    last = merged(first, {"event": "failed", "error": "PeerLost", "peer_ranks": [2, "x", -1]})
    assert first | {"event": "failed", "error": "PeerLost", "peer_ranks": [2]} == last


def test_the_classes_of_the_wall_time_are_kept() -> None:
    """All of the newest line, but for what is no number of seconds or has no name of a class."""
    seconds = {"steps": 1.5, "importing": 2, "end": "3", "\ud800": 1, "tracing": float("nan")}
    line = {"from_step": 5, "seconds": seconds}
    expected = {"from_step": 5, "seconds": {"steps": 1.5, "importing": 2}}
    assert expected == merged({"seconds": {"tracing": 9.0}}, line)


@pytest.mark.parametrize(
    "line",
    [
        {"step": "7", "loss": None, "event": 3, "peer_ranks": "all"},
        {"seconds": ["steps"]},
        {"step": 1 << 64, "text": ["a"], "peer_ranks": {"0": 1}},
    ],
)
def test_a_value_of_another_type_is_left_out(line: dict[str, object]) -> None:
    """And so is a number that nobody could count."""
    assert {"step": 1} == merged({"step": 1}, line)


NAMES = st.sampled_from([*WORDS, "step", "loss", "peer_ranks", "seconds"]) | st.text()


@given(st.dictionaries(NAMES, values))
def test_whatever_a_program_says_a_status_is_small_and_can_be_sent(line: dict[str, object]) -> None:
    """A thousand of them go through one store."""
    whole = merged({}, line | dict.fromkeys(WORDS, "�一" * 5000))
    many = merged(whole, {"peer_ranks": list(range(9000))})
    many = merged(many, {"seconds": {f"{n}" * 8: n for n in range(1000, 3000)} | {"x" * 33: 1}})
    assert (MOST_PEERS, MOST_CLASSES) == (len(many["peer_ranks"]), len(many["seconds"]))
    assert len(json.dumps(many, ensure_ascii=False).encode()) < MOST_BYTES


@given(st.integers(1, 10_000))
def test_every_rank_is_read_with_few_others(size: int) -> None:
    """An answer of the store has a limit."""
    prefixes = [*status_prefixes(size)]
    keys = [status_key(rank) for rank in range(size)]
    counts = [sum(key.startswith(prefix) for key in keys) for prefix in prefixes]
    assert size == sum(counts)
    assert max(counts) <= BLOCK
