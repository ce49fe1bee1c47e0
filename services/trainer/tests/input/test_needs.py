"""The order of needs, against a list of them that is searched anew each time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, repeat

import pytest
from audioloom_storage import Location
from audioloom_trainer.input.needs import Needs, NotNeeded
from audioloom_trainer.shards.shard_set import FileRef, Shard
from hypothesis import given
from hypothesis import strategies as st


def shard(number: int) -> Shard:
    """Any shard of that number."""
    file = FileRef(Location("file", "", f"/{number}"), 1, f"{number:064}")
    return Shard("train", number, 1, file, file)


SHARDS = [shard(number) for number in range(6)]
NUMBERS = {each.sha256: each.number for each in SHARDS}


@dataclass
class Model:
    """The needs as a list, and the copies that are here."""

    left: list[int]
    here: set[int]

    def missing(self) -> int | None:
        return next((number for number in self.left if number not in self.here), None)

    def last_needed(self, copies: set[int], place: int) -> set[int]:
        """Every copy that may be named: the one used last, or any that is not used at all."""
        free = copies - set(self.left[: place + 1])
        unused = free - set(self.left)
        return unused or set(sorted(free, key=self.left.index)[-1:])


def keys(numbers: set[int]) -> set[str]:
    return {SHARDS[number].sha256 for number in numbers}


@given(st.lists(st.integers(0, 5), max_size=30), st.data())
def test_they_are_as_a_list_would_be(order: list[int], data: st.DataObject) -> None:
    """Whatever comes, is evicted and is held, in turn or not."""
    model, needs = Model([*order], set()), Needs(SHARDS[number] for number in order)
    for _ in range(data.draw(st.integers(0, 30))):
        missing = needs.first_missing(keys(model.here))
        assert model.missing() == (None if missing is None else missing.number)
        assert needs.is_searched == (missing is None)
        step = data.draw(st.sampled_from(["bring", "evict", "hold"]))
        if step == "bring" and missing is not None:
            assert needs.leads(missing, keys(model.here))
            model.here.add(missing.number)
        elif step == "evict":
            place = data.draw(st.integers(0, len(model.left)))
            free = data.draw(st.sets(st.sampled_from(sorted(model.here)))) if model.here else set()
            allowed = model.last_needed(free, place)
            victim = needs.last_needed(keys(free), place)
            assert (victim is None) == (not allowed)
            if victim is not None:
                assert NUMBERS[victim] in allowed
                model.here.remove(NUMBERS[victim])
                needs.start_over()
        elif step == "hold" and model.left:
            number = data.draw(st.sampled_from(model.left))
            assert model.left.index(number) == needs.place(SHARDS[number])
            needs.meet(SHARDS[number])
            model.left.remove(number)
        assert not needs.is_searched or model.missing() is None
    assert model.left == [each.number for each in needs]


def test_what_nobody_needs_is_refused() -> None:
    """It would be waited for forever; of endless needs, as many as are searched are."""
    for order in ([], SHARDS[:2], chain(SHARDS[:2], repeat(SHARDS[1]))):
        with pytest.raises(NotNeeded, match="shard 5 of train"):
            Needs(order).place(SHARDS[5])


def test_needs_far_ahead_are_not_looked_for() -> None:
    """They would be here long before they are needed."""
    needs = Needs(repeat(SHARDS[0]))
    assert None is needs.first_missing({SHARDS[0].sha256})
    needs.start_over()
    assert SHARDS[0] is needs.first_missing(set())


def test_equal_shards_are_one() -> None:
    """Whichever of them is held; shards with the same index and other data are not equal."""
    twin = replace(SHARDS[0], number=7, split="val")
    assert 0 == Needs([twin]).place(SHARDS[0])
    assert SHARDS[0].sha256 != replace(SHARDS[1], index=SHARDS[0].index).sha256


def test_endless_needs_are_searched_again_before_the_known_ones_end() -> None:
    """Half of the known ones are left for the time of the search."""
    needs, here = Needs(repeat(SHARDS[0])), keys({0})
    assert needs.first_missing(here) is None
    known = 0
    while needs.is_searched:
        needs.meet(SHARDS[0])
        known += 1
    assert 1000 < known < 4000
    assert needs.first_missing(here) is None
    assert needs.is_searched
