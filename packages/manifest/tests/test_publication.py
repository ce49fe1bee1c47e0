from pathlib import Path
from typing import Any, NoReturn

import pytest
from audioloom_manifest import publication, reader
from audioloom_manifest.errors import MalformedManifest, MissingManifest, NameTaken
from audioloom_manifest.file_list import check_files
from audioloom_manifest.kinds import Feature
from audioloom_manifest.publication import commit, find_committed
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location, Unavailable, UnknownOutcome, locate
from audioloom_storage import publish as storage_publish
from audioloom_storage_testing import Crashed, CrashPlan, steps
from manifest_editing import edit_manifest
from manifest_runs import RECIPE, STATS, attempt, commit_one, plan, write


def test_name_taken_by_another_recipe_names_the_difference(root: Location) -> None:
    """A name given by hand that another recipe has is refused, and nothing changes."""
    before = commit_one(root, name="calls").opened
    other = plan(root, RECIPE.model_copy(update={"windows": "all"}), name="calls")
    with pytest.raises(NameTaken, match="windows = 'first' there, 'all' asked for"):
        find_committed(other)
    with pytest.raises(NameTaken):
        commit(other, attempt(), [], STATS)
    assert before == read_manifest(before.folder)


@pytest.mark.parametrize(
    ("limit", "hint"),
    [("MOST_MANIFEST_BYTES", "fewer or shorter labels"), ("MOST_LIST_BYTES", "larger files")],
)
def test_what_no_reader_accepts_is_not_published(
    root: Location, monkeypatch: pytest.MonkeyPatch, limit: str, hint: str
) -> None:
    """Neither a longer manifest nor a longer list: nothing lies there afterwards."""
    monkeypatch.setattr(publication, limit, 100)
    with pytest.raises(MalformedManifest, match=f"at most 100 bytes.*{hint}"):
        commit_one(root)
    assert ["features"] == [each.name for each in Path(plan(root).folder.path).iterdir()]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, "\ud800"])
def test_a_parameter_that_no_reader_accepts_is_refused_before_the_work(value: object) -> None:
    """An integer beyond 64 bits and half of a surrogate pair cannot be in a recipe."""
    feature = RECIPE.feature.to_json() | {"shape": (40, 313), "parameters": {"n_fft": value}}
    with pytest.raises(ValueError, match=r"64 bits|surrogates not allowed"):
        Feature(**feature)


def test_a_manifest_that_no_reader_accepts_is_not_published(root: Location) -> None:
    """Whatever is wrong with it: nothing lies there afterwards."""
    feature = RECIPE.feature.model_copy(update={"parameters": {"n_fft": 2**64}})
    asked = plan(root, RECIPE.model_copy(update={"feature": feature}))
    with pytest.raises(MalformedManifest, match="integer 18446744073709551616"):
        commit(asked, attempt(), [], STATS)
    assert not Path(root.path, "features").exists()


def test_a_truth_is_not_the_number_one(root: Location) -> None:
    """For Python they are equal, and in a recipe they are not."""
    plans = []
    for value in (1, True):
        feature = RECIPE.feature.model_copy(update={"parameters": {"centre": value}})
        plans.append(plan(root, RECIPE.model_copy(update={"feature": feature}), name="calls"))
    commit(plans[0], attempt(), [], STATS)
    with pytest.raises(NameTaken, match=r"'centre': 1.* there, .*'centre': True.* asked for"):
        find_committed(plans[1])


def test_a_recipe_of_a_later_version_with_more_in_it_is_another(root: Location) -> None:
    """What this release does not know of it may be what makes the result another one."""
    opened = commit_one(root, name="calls").opened

    def change(value: dict[str, Any]) -> None:
        value["version"] = "1.9"
        value["recipe"]["colour"] = "red"

    edit_manifest(opened, change)
    with pytest.raises(NameTaken, match="colour = 'red' there, None asked for"):
        find_committed(plan(root, name="calls"))


def test_second_commit_finds_the_first(root: Location) -> None:
    """Of two identical commands one commits; the other is told so and changes nothing."""
    first = commit_one(root)
    asked = plan(root)
    second = commit(asked, attempt(), first.opened.files(), STATS)
    assert (True, False) == (first.ours, second.ours)
    assert first.opened == second.opened == find_committed(asked)


def test_nothing_committed_yet(root: Location) -> None:
    """Before a commit there is nothing to find."""
    assert find_committed(plan(root)) is None


def test_delete_and_rerun_gives_the_same_identity(tmp_path: Path) -> None:
    """Same recipe and content: same name, same identity, whatever the time, host or root."""
    one = commit_one(locate(tmp_path / "one")).opened.manifest
    two = commit_one(locate(tmp_path / "two")).opened.manifest
    assert (one.name, one.identity) == (two.name, two.identity)
    assert one.execution.attempt != two.execution.attempt


def test_other_content_is_another_identity(tmp_path: Path) -> None:
    """Data that differs shows in the identity, not in the name."""
    one = commit_one(locate(tmp_path / "one"), b"a").opened.manifest
    two = commit_one(locate(tmp_path / "two"), b"b").opened.manifest
    assert one.name == two.name
    assert one.identity != two.identity


def test_crash_at_every_step_leaves_nothing_or_a_manifest_that_verifies(tmp_path: Path) -> None:
    """Whatever step the power fails at, no half commit is visible, and a rerun succeeds."""
    with steps(tmp_path / "all") as all_steps:
        commit_one(locate(tmp_path / "whole"))
    assert all_steps.count > 10
    for number in range(1, all_steps.count + 1):
        root = locate(tmp_path / f"crash-{number}")
        with pytest.raises(Crashed), CrashPlan(tmp_path / f"counter-{number}", number).armed():
            commit_one(root)
        asked = plan(root)
        try:
            opened = read_manifest(asked.folder)
        except MissingManifest:
            data = Path(asked.folder.path, "features/a.parquet")
            data.unlink(missing_ok=True)  # a real stage names data by its digest instead
            opened = commit(
                asked, attempt(), [write(asked.folder, "features/a.parquet", b"windows")], STATS
            ).opened
        assert [] == list(check_files(opened.folder, opened.files()))


def test_manifest_of_a_broken_run_is_not_taken_for_nothing(root: Location) -> None:
    """A manifest that cannot be read is an error, never an invitation to write a new one."""
    asked = plan(root)
    Path(asked.folder.path).mkdir(parents=True)
    Path(asked.folder.path, "manifest.json").write_text("{")
    with pytest.raises(MalformedManifest):
        find_committed(asked)


@pytest.mark.parametrize("whose", ["ours", "another's", "nobody's"])
def test_an_unknown_outcome_is_looked_at(
    root: Location, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    """The attempt's id in the manifest that stands tells whose commit it was."""
    asked, mine = plan(root), attempt()

    def publish(where: Location, data: bytes) -> None:
        if where.name != "manifest.json" or whose == "ours":
            storage_publish(where, data)
        if where.name == "manifest.json":
            if whose == "another's":
                monkeypatch.undo()
                commit(asked, attempt(), [], STATS)
            raise UnknownOutcome("nobody knows", where=where)

    monkeypatch.setattr(publication, "publish", publish)
    if whose == "nobody's":
        with pytest.raises(UnknownOutcome, match="nobody knows"):
            commit(asked, mine, [], STATS)
        return
    found = commit(asked, mine, [], STATS)
    assert (whose == "ours") == found.ours
    assert (whose == "ours") == (found.opened.manifest.execution.attempt == mine.id)


def test_an_outcome_that_nobody_can_look_at_stays_unknown(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Storage that does not answer afterwards says nothing of the commit before it."""
    asked = plan(root)

    def gone(*_: object, **__: object) -> NoReturn:
        raise Unavailable("no answer")

    def publish(where: Location, data: bytes) -> None:
        if where.name == "manifest.json":
            monkeypatch.setattr(reader, "read_bytes", gone)
            raise UnknownOutcome("nobody knows", where=where)

    monkeypatch.setattr(publication, "publish", publish)
    with pytest.raises(UnknownOutcome, match="nobody knows"):
        commit(asked, attempt(), [], STATS)
