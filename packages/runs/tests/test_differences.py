from __future__ import annotations

from typing import Any

import pytest
from audioloom_manifest.kinds import FeaturesRecipe, RecordingsRecipe, RecordingsStats
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_runs.differences import (
    own_reasons,
    plan_of,
    reasons,
    run_differences,
    values_that_differ,
)
from audioloom_storage import Location, remove_tree
from hypothesis import given
from hypothesis import strategies as st
from manifest_runs import RECIPE, STATS, attempt, write

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()),
    lambda inner: st.dictionaries(st.text(), inner),
)


def recordings(root: Location, name: str, count: int = 1, **recipe: Any) -> Opened[Any]:
    """A committed list of so many recordings."""
    whole = RecordingsRecipe(
        algorithm=1,
        source="file:///archive",
        suffixes=(),
        pattern=recipe.get("pattern"),
        listing_sha256=f"{count:x}" * 64,
    )
    plan = Plan.of("recordings", whole, (), root, name)
    stats = RecordingsStats(recordings=count, bytes=9, labelled=0, grouped=0, labels={})
    entry = write(plan.folder, f"{name}.parquet", name.encode(), "inventory")
    return commit(plan, attempt(), [entry], stats).opened


def features(
    root: Location, *inputs: Opened[Any], name: str | None = None, **recipe: Any
) -> Opened[Any]:
    """A committed features run."""
    plan = planned(root, *inputs, name=name, **recipe)
    return commit(plan, attempt(), [write(plan.folder, "a.parquet", b"x")], STATS).opened


def planned(root: Location, *inputs: Opened[Any], name: str | None = None, **recipe: Any) -> Plan:
    whole = FeaturesRecipe.model_validate({**dict(RECIPE), **recipe})
    return Plan.of("features", whole, (each.reference(root) for each in inputs), root, name)


def told(found: Any) -> list[tuple[str, str, Any, Any]]:
    return [(each.section, each.key, each.before, each.now) for each in found]


@given(VALUES, VALUES)
def test_values_differ_or_are_equal(one: Any, other: Any) -> None:
    """Nothing differs from itself; otherwise both sides have the same keys, mirrored."""
    assert [] == [*values_that_differ("recipe", {"a": one}, {"a": one})]
    there = {(each.path, repr(each.before), repr(each.now))
             for each in values_that_differ("recipe", {"a": one}, {"a": other})}  # fmt: skip
    back = {(each.path, repr(each.now), repr(each.before))
            for each in values_that_differ("recipe", {"a": other}, {"a": one})}  # fmt: skip
    assert there == back


def test_a_missing_value_is_none(root: Location) -> None:
    """As a recipe of an older release has it, or labels that only one run knows."""
    found = values_that_differ("result", {"labels": {"a": 1}}, {"labels": {"b": 2}})
    assert [("result", "labels.a", 1, None), ("result", "labels.b", None, 2)] == told(found)


def test_a_default_of_the_contract_is_no_missing_value(root: Location) -> None:
    """A manifest leaves out `digest` when it is "whole"."""
    found = own_reasons(planned(root, digest="head"), planned(root))
    assert [("recipe", "digest", "head", "whole")] == told(found)


def test_code_is_told_from_settings(root: Location) -> None:
    """The revision of an algorithm is no setting that a user can change."""
    found = own_reasons(planned(root), planned(root, algorithm=2, engine="native"))
    assert [("recipe", "engine", "numpy", "native"), ("code", "algorithm", 1, 2)] == told(found)


def test_the_reasons_of_an_input_are_followed(root: Location) -> None:
    """To the setting of an earlier stage, and the counts of recordings."""
    old, new = recordings(root, "old"), recordings(root, "new", 2, pattern="(?P<label>.)/.*")
    found = [*reasons(plan_of(features(root, old)), planned(root, new))]
    short = [each.manifest.identity[7:15] for each in (old, new)]
    assert {
        ("inputs", "recordings", f"old ({short[0]})", f"new ({short[1]})"),
        ("inputs", "recordings.pattern", None, "(?P<label>.)/.*"),
        ("inputs", "recordings.listing_sha256", "1" * 64, "2" * 64),
        ("inputs", "recordings.recordings", 1, 2),
    } == {*told(found)}


def test_an_input_that_is_gone_is_not_followed(root: Location) -> None:
    """Nor one that was made anew: what it was nobody knows."""
    old, new = recordings(root, "old"), recordings(root, "new", 2)
    made = features(root, old)
    remove_tree(old.folder)
    assert ["recordings"] == [each.key for each in reasons(plan_of(made), planned(root, new))]
    recordings(root, "old", 3)
    assert ["recordings"] == [each.key for each in reasons(plan_of(made), planned(root, new))]


def test_inputs_of_one_name_are_compared(root: Location) -> None:
    """Whatever their order; an input that both have is no difference."""
    elsewhere = root / "elsewhere"
    same, old, gone = (recordings(root, name) for name in ("same", "b", "c"))
    new, added = recordings(elsewhere, "b", 2), recordings(elsewhere, "a", 3)
    before, now = planned(root, gone, same, old), planned(root, added, same, new)
    pairs = [
        (str(each.before).split()[0], str(each.now).split()[0]) for each in own_reasons(before, now)
    ]
    assert [("b", "b"), ("c", "a")] == pairs
    (alone,) = own_reasons(planned(root, same), planned(root))
    assert alone.now is None


def test_finished_runs_are_compared_whole(root: Location) -> None:
    """Section by section, in a fixed order."""
    plan = planned(root, engine="native")
    other = Attempt(attempt().producer, host="there", versions={"librosa": "0.11.0"})
    stats = STATS.model_copy(update={"windows": 7, "labels": {"calm": 7}})
    new = commit(plan, other, [write(plan.folder, "a.parquet", b"y")], stats).opened
    found = told(run_differences(features(root), new))
    sections = [each[0] for each in found]
    assert sorted(sections, key=("recipe", "environment", "result", "time").index) == sections
    assert {
        ("recipe", "engine", "numpy", "native"),
        ("environment", "versions.librosa", None, "0.11.0"),
        ("environment", "host", "here", "there"),
        ("result", "windows", 1, 7),
        ("result", "labels.calm", None, 7),
    } <= {*found}


@pytest.mark.parametrize("name", [None, "other"])
def test_equal_runs_have_no_reasons(root: Location, name: str | None) -> None:
    """A name or a place is none."""
    source = recordings(root, "one")
    made = features(root, source)
    assert [] == own_reasons(plan_of(made), planned(root / "elsewhere", source, name=name))
