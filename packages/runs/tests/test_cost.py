"""The cost of runs below a root: predicted, noted, shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.envelope import Cost, FileEntry
from audioloom_manifest.publication import Attempt, commit
from audioloom_manifest.reader import read_manifest
from audioloom_runs import cost as cost_module
from audioloom_runs.cost import copies_of, cost_facts, newest_manifests, note_actual, predict_cost
from audioloom_runs.prediction import Expected
from audioloom_storage import Location, Unavailable, locate
from manifest_runs import RECIPE, STATS, attempt, plan, write

SAME = ("feature", "windows")


def predicted(
    root: Location, work: float = 30, recipe: Any = RECIPE, **more: Any
) -> dict[str, Cost]:
    """The cost of a run of the tests."""
    known = {
        "same": SAME,
        "master": "local[2]",
        "cores": 2,
        "seconds": Expected(10, work),
        "memory": Expected(1e8),
        "stored": Expected(0, 7),
    }
    return predict_cost(plan(root, recipe), **{**known, **more})


def ran(root: Location, name: str, seconds: float, work: float = 30, **more: Any) -> Attempt:
    """A committed run that took so long."""
    tried = attempt()
    tried.settings["master"] = more.pop("master", "local[2]")
    recipe, makers = more.pop("recipe", RECIPE), more.pop("makers", set())
    tried.cost.update(predicted(root, work, recipe))
    asked = plan(root, recipe, name=name)
    files = [write(asked.folder, "features/a.parquet", b"windows")]
    note_actual(tried, asked.folder, files, seconds, cores=2, makers=makers)
    commit(asked, tried, files, STATS)
    return tried


def test_the_first_run_is_predicted_by_constants(root: Location) -> None:
    """There is no folder of runs yet; cores are held all the time."""
    found = predicted(root)
    assert {"seconds", "core_seconds", "memory_bytes", "stored_bytes", "cache_bytes"} == {*found}
    assert (40, 80, 0) == (
        found["seconds"].likely,
        found["core_seconds"].likely,
        found["seconds"].runs,
    )
    assert 0 == found["cache_bytes"].most


def test_spark_on_yarn_waits_for_its_containers(root: Location) -> None:
    """For how long is hardly known before a first run, so the range is wide; no core waits."""
    here, there = predicted(root), predicted(root, master="yarn")
    assert here["seconds"].likely + cost_module.YARN_SECONDS == there["seconds"].likely
    assert here["core_seconds"] == there["core_seconds"]
    assert there["seconds"].most > 2 * there["seconds"].likely


def test_earlier_runs_of_any_size_inform_the_next(root: Location) -> None:
    """Predicted and taken stand in the manifest, beside the constants."""
    ran(root, "small", 12.0, work=2)
    ran(root, "large", 75.0, work=120)
    noted = read_manifest(root / "features" / "large").manifest.execution.cost
    assert (10, 120, 1, 75) == (
        noted["seconds"].start, noted["seconds"].work, noted["seconds"].runs,
        noted["seconds"].actual,
    )  # fmt: skip
    assert (150, 7) == (noted["core_seconds"].actual, noted["stored_bytes"].actual)
    assert (noted["memory_bytes"].actual or 0) > 1e6
    found = predicted(root, work=60)["seconds"]
    assert 2 == found.runs
    assert 43 == pytest.approx(found.likely, rel=0.15)


@pytest.mark.parametrize(
    "other",
    [
        {"recipe": RECIPE.model_copy(update={"windows": "all"})},
        {"master": "yarn"},
        {"makers": {"another attempt"}},
    ],
)
def test_other_runs_tell_nothing(root: Location, other: dict[str, Any]) -> None:
    """Another feature, another kind of cluster, a run of which nobody knows how long it took."""
    ran(root, "other", 400.0, **other)
    assert (0, 40) == ((found := predicted(root)["seconds"]).runs, found.likely)


def test_fields_that_only_say_the_size_do_not_matter(root: Location) -> None:
    """A larger set has larger units."""
    ran(root, "small", 50.0, recipe=RECIPE.model_copy(update={"unit_recordings": 3}))
    assert 1 == predicted(root)["seconds"].runs


def test_an_identity_does_not_know_of_costs(tmp_path: Path) -> None:
    """Two runs of one content, quick and slow."""
    for name, seconds in (("one", 1.0), ("two", 500.0)):
        ran(locate(tmp_path / name), "a", seconds)
    one, two = (
        read_manifest(tmp_path / name / "features" / "a").manifest for name in ("one", "two")
    )
    assert one.identity == two.identity
    assert one.execution.cost != two.execution.cost


def test_what_cannot_be_read_is_no_reason_to_fail(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torn manifest, a run at work, a storage that does not answer."""
    ran(root, "good", 50.0)
    ran(root, "torn", 50.0)
    Path((root / "features" / "torn" / "manifest.json").path).write_text("{")
    write(root / "features" / "at-work", "unit.parquet", b"x")
    assert 1 == predicted(root)["seconds"].runs

    def refuse(_: Location) -> None:
        raise Unavailable("no NameNode", where="here")

    monkeypatch.setattr(cost_module, "list_folder", refuse)
    assert 0 == predicted(root)["seconds"].runs


def test_only_the_newest_runs_are_read(root: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root may hold thousands."""
    for name in ("a", "b", "c"):
        ran(root, name, 50.0)
    monkeypatch.setattr(cost_module, "NEWEST", 2)
    assert 2 == len([*newest_manifests(root, "features")])


def test_copies_of_hdfs_are_counted() -> None:
    """Other storages say nothing of theirs."""
    places = ("hdfs://host/root", "webhdfs://host/root", "/here", "s3://bucket/root")
    assert [3, 3, 1, 1] == [copies_of(locate(place)) for place in places]


def test_costs_are_for_people(root: Location) -> None:
    """Prediction, range, basis; and what it took, as soon as it is known."""
    first = cost_facts(predicted(root))
    assert first["time"].startswith("predicted 40 s (")
    assert first["time"].endswith(", by constants")
    assert "cache" not in first
    ran(root, "one", 50.0)
    noted = read_manifest(root / "features" / "one").manifest.execution.cost
    assert cost_facts(noted)["time"].endswith(", by constants, took 50 s")
    assert cost_facts(predicted(root))["time"].endswith(", by 1 earlier run")


def test_a_file_list_of_any_length_is_added_up(root: Location) -> None:
    """All copies of all files."""
    tried = attempt()
    tried.cost.update(predicted(root))
    entries = [
        FileEntry(path=f"a/{number}", bytes=5, sha256="0" * 64, role="features")
        for number in range(3)
    ]
    note_actual(tried, locate("hdfs://host/root/features/x"), iter(entries), 1.0, cores=2)
    assert 45 == tried.cost["stored_bytes"].actual
