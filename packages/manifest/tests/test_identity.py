from typing import Annotated, Any

import pytest
from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import DERIVED, MINORS, FileEntry, Kind, Recipe, since
from audioloom_manifest.file_list import files_list
from audioloom_manifest.identity import run_identity, run_name
from audioloom_manifest.kinds import MODELS, FeaturesManifest, FeaturesRecipe
from audioloom_manifest.publication import commit
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location
from manifest_runs import RECIPE, STATS, attempt, commit_one, plan, write


def identity(kind: Kind, files: list[FileEntry], **changed: Any) -> str:
    """The identity of a run with these files."""
    value = {"kind": kind, "recipe": RECIPE.to_json(), "inputs": [], "stats": {}, **changed}
    return run_identity(value, files_list(files)[0])


def test_name_depends_on_kind_recipe_and_inputs() -> None:
    """Each of the three makes another name; the same three make the same."""
    base = run_name("features", RECIPE, ["sha256:a"])
    other = RECIPE.model_copy(update={"algorithm": 2})
    assert base == run_name("features", RECIPE, ["sha256:a"])
    names = {
        base,
        run_name("shards", RECIPE, ["sha256:a"]),
        run_name("features", RECIPE, ["sha256:b"]),
        run_name("features", other, ["sha256:a"]),
    }
    assert 4 == len(names)


def test_identity_does_not_depend_on_file_order(root: Location) -> None:
    """Files are a set."""
    files = [write(root, name, name.encode()) for name in ("a", "b")]
    assert identity("features", files) == identity("features", files[::-1])


@pytest.mark.parametrize("role", sorted(DERIVED["training-run"]))
def test_derived_files_are_not_in_the_identity(root: Location, role: str) -> None:
    """A report holds times: a run made again has the same identity, whatever its report says."""
    weights = write(root, "weights", b"w", role="weights")
    derived = [write(root, f"{role}-{text}", text.encode(), role=role) for text in ("one", "two")]
    alone = identity("training-run", [weights])
    assert {alone} == {identity("training-run", [weights, each]) for each in derived}


@pytest.mark.parametrize(
    ("kind", "role"), [("shards", "report"), ("training-run", "weights"), ("training-run", "new")]
)
def test_any_other_role_is_in_the_identity(root: Location, kind: Kind, role: str) -> None:
    """A role is derived for the kinds that say so, and an unknown one never is."""
    file = write(root, "file", b"content", role=role)
    assert identity(kind, []) != identity(kind, [file])


def test_statistics_are_in_the_identity() -> None:
    """A reader counts on them without opening the data."""
    assert identity("shards", []) != identity("shards", [], stats={"records": 1})


# --- a later minor version -----------------------------------------------------------------------


class LaterRecipe(FeaturesRecipe):
    added: Annotated[int | None, since(2)] = None


class LaterManifest(FeaturesManifest):
    recipe: LaterRecipe


LATER = {"added": 7}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a release that knows version 1.2 of features, with a field more in the recipe."""
    monkeypatch.setitem(MINORS, "features", 2)
    monkeypatch.setitem(MODELS, "features", LaterManifest)


def asked(root: Location, **more: Any) -> Recipe:
    return LaterRecipe.model_validate({**RECIPE.model_dump(), **more})


def test_field_added_later_keeps_old_names(root: Location) -> None:
    """A field of a later minor stays out of the file, and so of every digest, while unused."""
    unused, used = asked(root), asked(root, **LATER)
    assert RECIPE.to_json() == unused.to_json()
    assert RECIPE.to_json() | LATER == used.to_json()
    assert digest(RECIPE.to_json()) != digest(used.to_json())
    names = [run_name("features", each, []) for each in (RECIPE, unused, used)]
    assert names[0] == names[1] != names[2]


@pytest.mark.usefixtures("later")
def test_a_later_release_reads_what_was_written_before(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it were new: the field has the value that means "as before"."""
    with monkeypatch.context() as before:
        before.setitem(MINORS, "features", 1)
        before.setitem(MODELS, "features", FeaturesManifest)
        old = commit_one(root).opened
    found = read_manifest(old.folder)
    assert ("1.1", asked(root)) == (found.manifest.version, found.manifest.recipe)
    assert old.manifest.identity == found.manifest.identity


@pytest.mark.parametrize("more", [{}, LATER], ids=["unused", "used"])
def test_a_release_of_before_reads_what_is_newer(
    root: Location, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """It passes over what it does not know, and recomputes the identity with it."""
    with monkeypatch.context() as later:
        later.setitem(MINORS, "features", 2)
        later.setitem(MODELS, "features", LaterManifest)
        recipe: Any = asked(root, **more)
        new = commit(plan(root, recipe), attempt(), [write(root, "a", b"a")], STATS).opened
    found = read_manifest(new.folder)
    assert ("1.2", RECIPE) == (found.manifest.version, found.manifest.recipe)
    assert new.manifest.identity == found.manifest.identity
