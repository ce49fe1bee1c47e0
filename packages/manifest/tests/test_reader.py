import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.envelope import FileEntry, InputRef
from audioloom_manifest.errors import (
    MalformedManifest,
    MissingManifest,
    UnknownKind,
    UnreadableManifest,
    WrongIdentity,
    WrongKind,
)
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Plan, commit
from audioloom_manifest.reader import Opened, list_manifests, read_manifest, resolve_input
from audioloom_storage import Location, PermissionDenied, locate, read_bytes
from manifest_editing import write_manifest
from manifest_runs import RECIPE, STATS, attempt, commit_one, write

CASES = Path(__file__).parents[3] / "shared" / "contracts" / "conformance" / "cases"


def test_missing_manifest_says_what_to_do(root: Location) -> None:
    """A folder without a manifest is a run that is not done."""
    with pytest.raises(MissingManifest, match="without a manifest a run is not done"):
        read_manifest(root)


def test_another_kind_is_refused_by_both_names(root: Location) -> None:
    """Asking for shards and finding features names both."""
    folder = commit_one(root).opened.folder
    with pytest.raises(WrongKind, match="expected a shards manifest, found a features manifest"):
        read_manifest(folder, "shards")


def test_manifests_are_read_without_numpy() -> None:
    """Who reads no records need not install what they take."""
    code = "import sys; sys.modules['numpy'] = None; import audioloom_manifest.reader"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    """A manifest made to exhaust the parser's stack is malformed, not a crash."""
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(MalformedManifest, match="inside one another"):
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
    """In one that is known an unknown field is an error in the list of files too."""
    entry = {"path": "a", "bytes": 0, "sha256": "0" * 64, "role": "shard"}
    value = json.loads((CASES / "shards-minimal/input/manifest.json").read_bytes())
    write_manifest(tmp_path, value | {"version": version}, [{**entry, "future": 1}])
    if newer:
        opened = read_manifest(locate(tmp_path))
        assert [FileEntry.model_validate(entry)] == opened.files()
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
    "statistics": lambda value: value["stats"].update(windows=7),
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
    assert re.search(r"files and statistics, sha256:[0-9a-f]{64}$", caught.value.expected)


def test_a_list_of_other_files_is_refused(root: Location) -> None:
    """One that has its own digest in the manifest is still not that of the identity."""
    opened = commit_one(root).opened
    stated = opened.manifest.identity
    others = [write(opened.folder, "features/b.parquet", b"others")]
    write_manifest(Path(opened.folder.path), opened.manifest.to_json(), others)
    with pytest.raises(WrongIdentity):
        forge(opened, lambda value: value.update(identity=stated))


def test_what_is_not_in_the_identity_may_differ(root: Location) -> None:
    """When, where and by whom: another commit of the same says other things there."""
    opened = commit_one(root).opened
    again = forge(opened, lambda value: value.update(created="2020-01-01T00:00:00Z"))
    assert opened.manifest.identity == again.manifest.identity


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
    value = json.loads((CASES / "shards-minimal/input/manifest.json").read_bytes())
    value["inputs"][0]["location"] = location
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(MalformedManifest, match=r"manifest\.json: .*inputs\.0\.location"):
        read_manifest(locate(tmp_path))


@pytest.mark.parametrize("source", ["s3://bucket/archive", "archive", ""])
def test_a_source_that_is_nowhere_is_refused_with_its_manifest(tmp_path: Path, source: str) -> None:
    """It is not the command line that is wrong."""
    value = json.loads((CASES / "recordings-minimal/input/manifest.json").read_bytes())
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


def test_listing_goes_on_past_what_cannot_be_opened(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that another user keeps closed, and a pipe where a manifest should be."""
    good = commit_one(root, name="good").opened
    for name in ("closed", "pipe"):
        Path(root.path, "features", name).mkdir()
    os.mkfifo(Path(root.path, "features", "pipe", "manifest.json"))

    def read(where: Location, *, limit: int) -> bytes:
        if where.parent.name == "closed":
            raise PermissionDenied("permission denied", where=where)
        return read_bytes(where, limit=limit)

    monkeypatch.setattr("audioloom_manifest.reader.read_bytes", read)
    found = {folder.name: result for folder, result in list_manifests(root, "features")}
    assert ["closed", "good", "pipe"] == sorted(found)
    assert good == found["good"]
    for name in ("closed", "pipe"):
        wrong = found[name]
        assert isinstance(wrong, UnreadableManifest)
        assert str(root / f"features/{name}/manifest.json") == wrong.where
    assert "found permission denied" in str(found["closed"])


def test_listing_goes_on_past_a_time_beyond_the_years(root: Location) -> None:
    """A time that is of the year 10000 in UTC is a fault of that manifest alone."""
    opened = commit_one(root, name="late").opened
    value = json.loads(Path(opened.location.path).read_bytes())
    value["created"] = "9999-12-31T23:59:59-01:00"
    Path(opened.location.path).write_text(json.dumps(value))
    ((_, found),) = list_manifests(root, "features")
    assert isinstance(found, MalformedManifest)
    assert "created: Value error, a time of the years 1 to 9999" in str(found)


def test_listing_of_nothing_is_empty(root: Location) -> None:
    """A root that does not exist holds no runs."""
    assert [] == list(list_manifests(root, "shards"))
