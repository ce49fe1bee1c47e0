import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest import (
    FileEntry,
    InputRef,
    MalformedManifest,
    MissingManifest,
    Opened,
    Plan,
    ShardsRecipe,
    UnknownKind,
    UnsupportedVersion,
    WrongIdentity,
    WrongKind,
    commit,
    digest,
    list_manifests,
    read_manifest,
    resolve_input,
    run_folder,
    run_identity,
)
from audioloom_manifest.file_list import files_list
from audioloom_storage import Location, locate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_runs import RECIPE, STATS, attempt, commit_one, write

SHARDS = Path(__file__).parents[3] / "shared" / "contracts" / "3-shards"


def test_missing_manifest_says_what_to_do(root: Location) -> None:
    """A folder without a manifest is a run that is not done."""
    with pytest.raises(MissingManifest, match="without a manifest a run is not done"):
        read_manifest(root)


def test_another_kind_is_refused_by_both_names(root: Location) -> None:
    """Asking for shards and finding features names both."""
    folder = commit_one(root).opened.folder
    with pytest.raises(WrongKind, match="expected a shards manifest, found a features manifest"):
        read_manifest(folder, "shards")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    """A manifest made to exhaust the parser's stack is malformed, not a crash."""
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(MalformedManifest, match="nesting"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize("text", ["[]", '"features"', "{}", '{"kind": "features"}', "null"])
def test_json_that_is_no_manifest(tmp_path: Path, text: str) -> None:
    """JSON without kind and version is no manifest of ours."""
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(MalformedManifest, match="kind and version"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize("kind", [[], {}, 1, None])
def test_a_kind_that_is_no_word(tmp_path: Path, kind: object) -> None:
    """Whatever stands in its place, it is a kind that nobody knows."""
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": kind, "version": "1.0"}))
    with pytest.raises(UnknownKind, match="expected one of recordings"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize("version", [1.0, "1", "1.0.0", "1.x", "1.²", "1." + "9" * 5000, "1.0\n"])
def test_a_version_that_is_none(tmp_path: Path, version: object) -> None:
    """Two numbers of at most four digits and a point between them, or it is refused."""
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "shards", "version": version}))
    with pytest.raises(MalformedManifest, match=r"a version like 1\.0"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize(
    ("version", "newer"), [("1.0", False), ("1.1", False), ("1.2", True), ("1.10", True)]
)
def test_only_a_later_minor_is_newer(tmp_path: Path, version: str, newer: bool) -> None:
    """In one that is known, older or not, an unknown field is an error in the list of files too."""
    entry = {"path": "a", "bytes": 0, "sha256": "0" * 64, "role": "shard", "future": 1}
    data = json.dumps(entry).encode()
    value = json.loads((SHARDS / "v1.0" / "minimal.json").read_bytes())
    digest = hashlib.sha256(data).hexdigest()
    value["files"] |= {"sha256": digest, "bytes": len(data), "count": 1}
    inputs = [each["identity"] for each in value["inputs"]]
    recipe = ShardsRecipe.model_validate_json(json.dumps(value["recipe"]))
    listed = FileEntry(path="a", bytes=0, sha256="0" * 64, role="shard")
    identity = run_identity("shards", recipe, inputs, [listed])
    (tmp_path / value["files"]["name"]).write_bytes(data)
    text = json.dumps(value | {"version": version, "identity": identity})
    (tmp_path / "manifest.json").write_text(text)
    if newer:
        assert [listed] == read_manifest(locate(tmp_path)).files()
    else:
        with pytest.raises(MalformedManifest, match="future"):
            read_manifest(locate(tmp_path))


def source(number: int) -> InputRef:
    """An input of an identity of its own."""
    sha256 = str(number) * 64
    return InputRef(
        kind="recordings",
        name="a",
        location="recordings/a",
        identity=f"sha256:{sha256}",
        sha256=sha256,
    )


def commit_of_inputs(root: Location) -> Opened[Any]:
    """A committed run of two inputs."""
    asked = Plan("features", "a", run_folder(root, "features", "a"), RECIPE, (source(2), source(3)))
    files = [write(asked.folder, "features/a.parquet", b"windows")]
    return commit(asked, attempt(), files, STATS).opened


def forge(opened: Opened[Any], change: Callable[[dict[str, Any]], object]) -> Opened[Any]:
    """Change what the manifest says, in the file, and read it again."""
    path = Path(opened.location.path)
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))
    return read_manifest(opened.folder)


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "identity": lambda value: value.update(identity="sha256:" + "0" * 64),
    "recipe": lambda value: value["recipe"].update(windows="all"),
    "part of the recipe": lambda value: value["recipe"]["feature"].update(sample_rate=8000),
    "input": lambda value: value["inputs"][0].update(identity="sha256:" + "1" * 64),
    "inputs in another order": lambda value: value["inputs"].reverse(),
    "input left out": lambda value: value["inputs"].pop(),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_what_is_not_of_its_identity_is_refused(root: Location, what: str) -> None:
    """It names the manifest, the identity that it states, and the one that it has."""
    opened = commit_of_inputs(root)
    stated = opened.manifest.identity if what != "identity" else "sha256:" + "0" * 64
    with pytest.raises(WrongIdentity, match="changed after the commit") as caught:
        forge(opened, FORGERIES[what])
    assert str(opened.location) == caught.value.where
    assert stated == caught.value.found
    assert re.search(r"files, sha256:[0-9a-f]{64}$", caught.value.expected)


def test_a_list_of_other_files_is_refused(root: Location) -> None:
    """One that has its own digest in the manifest is still not that of the identity."""
    opened = commit_one(root).opened
    data, ref = files_list([write(opened.folder, "features/b.parquet", b"others")])
    Path(opened.folder.path, ref.name).write_bytes(data)
    with pytest.raises(WrongIdentity):
        forge(opened, lambda value: value.update(files=ref.model_dump(mode="json")))


def test_what_is_not_in_the_identity_may_differ(root: Location) -> None:
    """When, where and by whom: another commit of the same says other things there."""
    opened = commit_one(root).opened
    again = forge(opened, lambda value: value.update(created="2020-01-01T00:00:00Z"))
    assert opened.manifest.identity == again.manifest.identity


def later(opened: Opened[Any], fields: dict[str, Any], counted: set[str]) -> Opened[Any]:
    """Make it one of a later minor, with more fields in its recipe, and read it again.

    Args:
        opened: the run.
        fields: those of the recipe, or of its feature where the name begins so.
        counted: which of them are not as before, and so in the identity.
    """
    recipe = opened.manifest.recipe.model_dump(mode="json", exclude_defaults=True)
    content = [[entry.role, entry.path, entry.sha256] for entry in opened.files()]

    def add(recipe: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        for name in names:
            (recipe["feature"] if name.startswith("feature") else recipe)[name] = fields[name]
        return recipe

    basis = {"kind": "features", "recipe": add(recipe, counted), "inputs": [], "content": content}
    identity = f"sha256:{digest(basis)}"

    def change(value: dict[str, Any]) -> None:
        add(value["recipe"], fields)
        value |= {"version": "1.7", "identity": identity, "future": {"a": 1}}

    return forge(opened, change)


@given(st.data())
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_later_minor_is_believed_by_what_it_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whichever unknown fields are as before; with one of the others changed it is refused."""
    scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
    names = st.sampled_from(["later", "much_later", "feature_later", "feature_much_later"])
    fields = data.draw(st.dictionaries(names, values, min_size=1))
    counted = data.draw(st.sets(st.sampled_from(sorted(fields))))
    opened = commit_one(locate(tmp_path_factory.mktemp("root"))).opened
    found = later(opened, fields, counted)
    assert opened.manifest.recipe == found.manifest.recipe
    with pytest.raises(WrongIdentity):
        forge(found, lambda value: value["recipe"].update(engine="another"))
    changed = "feature" if counted and min(counted).startswith("feature") else None

    def change(value: dict[str, Any]) -> None:
        value["recipe"]["engine"] = RECIPE.engine
        place = value["recipe"]["feature"] if changed else value["recipe"]
        place[min(counted)] = "changed in the file"

    if counted:
        with pytest.raises(WrongIdentity):
            forge(found, change)


def test_more_unknown_fields_than_can_be_told(root: Location) -> None:
    """The digests double with each, so there is an end, and a later release to read it with."""
    fields = {f"later{number}": number for number in range(9)}
    with pytest.raises(UnsupportedVersion, match=r"9 of version 1\.7"):
        later(commit_one(root).opened, fields, set())


def test_an_unknown_field_that_cannot_be_written(root: Location) -> None:
    """Nobody checked it, and a digest of it there is none."""
    opened = commit_one(root).opened
    path = Path(opened.location.path)
    text = path.read_text().replace('"version": "1.0"', '"version": "1.7"')
    path.write_text(text.replace('"engine"', '"later": 1e999, "engine"'))
    with pytest.raises(MalformedManifest, match="written again"):
        read_manifest(opened.folder)


@pytest.mark.parametrize(
    "location",
    [
        "../elsewhere",
        "/etc",
        "a/../../b",
        "a\\b",
        "",
        "s3://bucket/a",
        "hdfs://u:p@nn/a",
        "file://a",
    ],
)
def test_an_input_that_is_nowhere_is_refused_with_its_manifest(
    tmp_path: Path, location: str
) -> None:
    """A path that would leave the root, and a URI that no storage knows: the manifest is wrong."""
    value = json.loads((SHARDS / "v1.0" / "minimal.json").read_bytes())
    value["inputs"][0]["location"] = location
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(MalformedManifest, match=r"manifest\.json: .*inputs\.0\.location"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize("source", ["s3://bucket/archive", "archive", ""])
def test_a_source_that_is_nowhere_is_refused_with_its_manifest(tmp_path: Path, source: str) -> None:
    """It is not the command line that is wrong."""
    value = json.loads((SHARDS.parent / "1-recordings/v1.0/minimal.json").read_bytes())
    value["recipe"]["source"] = source
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(MalformedManifest, match=r"manifest\.json: .*recipe\.source"):
        read_manifest(locate(tmp_path))


def test_folder_and_file_name_the_same_manifest(root: Location) -> None:
    """A run can be named by its folder or by its manifest."""
    opened = commit_one(root).opened
    assert opened == read_manifest(opened.folder) == read_manifest(str(opened.location))


def test_reference_is_relative_below_the_root_only(root: Location, tmp_path: Path) -> None:
    """A tree can move as a whole; an input from elsewhere keeps its address."""
    opened = commit_one(root).opened
    inside = opened.reference(root)
    outside = opened.reference(locate(tmp_path / "other"))
    assert f"features/{opened.manifest.name}" == inside.location
    assert opened.folder.uri == outside.location
    assert opened.folder == resolve_input(inside, root) == resolve_input(outside, root)


def test_listing_shows_committed_uncommitted_and_broken(root: Location) -> None:
    """A listing goes on past a run that cannot be read."""
    good = commit_one(root, name="good").opened
    Path(root.path, "features", "killed").mkdir()
    broken = Path(root.path, "features", "broken")
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    found = {folder.name: result for folder, result in list_manifests(root, "features")}
    assert ["broken", "good", "killed"] == sorted(found)
    assert good == found["good"]
    assert found["killed"] is None
    assert isinstance(found["broken"], MalformedManifest)


def test_listing_of_nothing_is_empty(root: Location) -> None:
    """A root that does not exist holds no runs."""
    assert [] == list(list_manifests(root, "shards"))
