"""`list` and `inspect`: what is there, also when it is half there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_manifest.reader import Opened, read_manifest
from manifest_editing import edit_manifest
from sharder_features import Window, make_features, windows


@pytest.fixture
def run(sharder: Callable, tmp_path: Path) -> Opened:
    """A committed run."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    return read_manifest(sharder("run", features.folder).out.strip(), "shards")


def test_a_missing_root_is_told(sharder: Callable, tmp_path: Path) -> None:
    """Exit code 66."""
    assert 66 == sharder("list", "--root", tmp_path / "nothing").code


def test_an_empty_root_says_so(sharder: Callable, tmp_path: Path) -> None:
    """No table of nothing."""
    ran = sharder("list", "--root", tmp_path)
    assert (0, f"no runs under {tmp_path}\n") == (ran.code, ran.out)


def test_all_runs_are_listed(sharder: Callable, tmp_path: Path, run: Opened) -> None:
    """Committed, unfinished and unreadable ones."""
    (tmp_path / "shards" / "half" / "shards").mkdir(parents=True)
    (tmp_path / "shards" / "torn").mkdir()
    (tmp_path / "shards" / "torn" / "manifest.json").write_text("{")
    shutil.copytree(tmp_path / run.manifest.inputs[0].location, tmp_path / "shards" / "alien")
    shutil.copytree(run.folder.path, tmp_path / "shards" / "forged")
    forged = tmp_path / "shards" / "forged" / "manifest.json"
    forged.write_text(forged.read_text().replace('"seed": 0', '"seed": 1'))
    data = sharder("list", "--root", tmp_path, "--json").data
    states = {one["name"]: one["state"] for one in data["runs"]}
    assert "committed" == states[run.manifest.name]
    assert "unfinished" == states["half"]
    assert {"unreadable"} == {states[name] for name in ("torn", "alien", "forged")}
    details = {one["name"]: one["detail"] for one in data["runs"] if "detail" in one}
    assert "found a features manifest" in details["alien"]
    assert "the identity of its recipe" in details["forged"]
    text = sharder("list", "--root", tmp_path).out
    assert "half" in text
    assert run.manifest.name in text


def test_inspect_shows_the_run(sharder: Callable, run: Opened) -> None:
    """Counts, recipe and lineage; an input that is gone is mentioned, not an error."""
    text = sharder("inspect", run.folder).out
    for word in ("identity", "seed 0, 24 lanes", "train", "made from", "recordings one: not found"):
        assert word in text
    data = sharder("inspect", run.folder, "--json").data
    assert 60 == sum(split["records"] for split in data["splits"].values())
    assert run.manifest.recipe.model_dump(mode="json") == data["recipe"]


def test_inspect_follows_no_input_that_another_replaced(
    sharder: Callable, tmp_path: Path, run: Opened
) -> None:
    """Two runs that keep each other's splits are shown, and the second is not followed."""
    features = tmp_path / run.manifest.inputs[0].location
    one, other = tmp_path / "shards" / "one", tmp_path / "shards" / "other"
    sharder("run", features, "--name", "one")
    sharder("run", features, "--name", "other", "--keep-splits", one)
    shutil.rmtree(one)
    sharder("run", features, "--name", "one", "--keep-splits", other)
    text = sharder("inspect", one).out
    assert [1, 1] == [text.count(f"shards {place}") for place in (other, one)]
    assert f"shards {one} (another identity lies there now)" in text


def test_inspect_shows_a_hundred_inputs(sharder: Callable, tmp_path: Path, run: Opened) -> None:
    """The rest of very many is left out."""
    made_up = [run.manifest.inputs[0]] * 60
    edit_manifest(run, lambda manifest: manifest.update(inputs=[one.to_json() for one in made_up]))
    lines = sharder("inspect", run.folder).out.split("made from\n")[1].splitlines()
    assert (101, "  …") == (len(lines), lines[-1])


def test_inspect_decodes_records(sharder: Callable, run: Opened, tmp_path: Path) -> None:
    """The first of each split in the order of their ranks, values summed up."""
    data = sharder("inspect", run.folder, "--records", "3", "--json").data
    assert {3} == {len(some) for some in data["records"].values()}
    text = sharder("inspect", run.folder, "--records", "3").out
    for some in data["records"].values():
        for one in some:
            assert one["path"] in text


def test_inspect_gives_no_more_than_there_is(sharder: Callable, tmp_path: Path) -> None:
    """Fewer records than asked for."""
    features = make_features(tmp_path, [[Window("a.wav"), Window("b.wav")]])
    out = sharder("run", features.folder, "--split", "all=1").out.strip()
    data = sharder("inspect", out, "--records", "9", "--json").data
    assert 2 == len(data["records"]["all"])


def test_inspect_of_a_damaged_shard_names_it(sharder: Callable, run: Opened) -> None:
    """Exit code 65."""
    path = Path(run.folder.path, run.files("shard")[0].path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    ran = sharder("inspect", run.folder, "--records", "100")
    assert 65 == ran.code
    assert path.name in ran.err
