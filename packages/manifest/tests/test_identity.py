import pytest
from audioloom_manifest import DERIVED, Kind, Recipe, run_identity, run_name
from audioloom_storage import Location
from manifest_runs import RECIPE, write


class Old(Recipe):
    seed: int


class New(Old):
    added_later: bool = False


def test_field_added_later_keeps_old_names() -> None:
    """A recipe field of a later minor, left at "as before", does not rename old runs."""
    old = run_name("shards", Old(algorithm=1, seed=0), [])
    assert old == run_name("shards", New(algorithm=1, seed=0), [])
    assert old != run_name("shards", New(algorithm=1, seed=0, added_later=True), [])


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
    one = run_identity("features", RECIPE, [], files)
    assert one == run_identity("features", RECIPE, [], files[::-1])


@pytest.mark.parametrize("role", sorted(DERIVED["training-run"]))
def test_derived_files_are_not_in_the_identity(root: Location, role: str) -> None:
    """A report holds times: a run made again has the same identity, whatever its report says."""
    weights = write(root, "weights", b"w", role="weights")
    derived = [write(root, f"{role}-{text}", text.encode(), role=role) for text in ("one", "two")]
    alone = run_identity("training-run", RECIPE, [], [weights])
    assert {alone} == {run_identity("training-run", RECIPE, [], [weights, d]) for d in derived}


@pytest.mark.parametrize(
    ("kind", "role"), [("shards", "report"), ("training-run", "weights"), ("training-run", "new")]
)
def test_any_other_role_is_in_the_identity(root: Location, kind: Kind, role: str) -> None:
    """A role is derived for the kinds that say so, and an unknown one never is."""
    file = write(root, "file", b"content", role=role)
    assert run_identity(kind, RECIPE, [], []) != run_identity(kind, RECIPE, [], [file])
