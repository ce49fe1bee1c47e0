"""What has come since a listing, and samples of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import BadInventory, InvalidOption, NothingNew
from audioloom_featurizer.inventory.schema import batch_of
from audioloom_featurizer.inventory.subset import sample_rows
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.settings import VerifySettings
from audioloom_manifest.errors import MissingManifest
from audioloom_manifest.reader import read_manifest
from audioloom_stage.result import Result
from featurizer_work import run, scan, write_wav
from hypothesis import given
from hypothesis import strategies as st
from manifest_editing import write_manifest


def paths(result: Result) -> list[str]:
    opened = read_manifest(str(result.text), "recordings")
    where = Path(opened.folder.path, opened.files("inventory")[0].path)
    return pq.read_table(where)["path"].to_pylist()


def test_nothing_new_is_told_and_not_committed(source: Path, root: Path) -> None:
    """An input is missing: the new recordings. What changed is told too."""
    first = scan(source, root)
    write_wav(source / "no" / "s1-take.wav", 2.0)
    (source / "no" / "s3-take.wav").unlink()
    with pytest.raises(NothingNew, match="1 changed, 1 gone, none new"):
        scan(source, root, since=str(first.text))
    assert 1 == len(list(root.glob("recordings/*")))


def test_additions_go_on_from_one_another(source: Path, root: Path) -> None:
    """Each manifest holds what none before it does, and a run works on those alone."""
    first = scan(source, root)
    write_wav(source / "maybe" / "s7-take.wav")
    second = scan(source, root, since=str(first.text))
    assert ["maybe/s7-take.wav"] == paths(second)
    write_wav(source / "maybe" / "a" / "s8-take.wav")
    write_wav(source / "maybe" / "s7-take.wav", 3.0)
    third = scan(source, root, since=str(second.text))
    assert ["maybe/a/s8-take.wav"] == paths(third)
    changed = {"changed": ["maybe/s7-take.wav"], "gone": []}
    assert {"changed": 1, "gone": 0, "examples": changed} == third.data["since"]
    assert 1 == run(str(third.text)).data["extracted"]
    assert [] == verify(VerifySettings(manifest=str(third.text))).data["problems"]
    assert scan(source, root, since=str(second.text)).data["already_committed"]


def test_the_manifest_before_is_an_input(source: Path, root: Path) -> None:
    """So the name depends on it: the same additions to another listing are another run."""
    first = scan(source, root)
    other = scan(source, root, pattern=None)
    write_wav(source / "maybe" / "s7-take.wav")
    names = [scan(source, root, since=str(each.text)).data["name"] for each in (first, other)]
    assert 2 == len(set(names))
    manifest = read_manifest(str(root / "recordings" / str(names[0])), "recordings").manifest
    assert [first.data["identity"]] == [reference.identity for reference in manifest.inputs]


def test_another_source_is_refused(source: Path, root: Path, tmp_path: Path) -> None:
    """Its paths would be other recordings."""
    first = scan(source, root)
    shutil.copytree(source, tmp_path / "copy")
    with pytest.raises(InvalidOption, match="another source"):
        scan(tmp_path / "copy", root, since=str(first.text))


def test_a_link_of_the_chain_that_is_gone_or_another(source: Path, root: Path) -> None:
    """Without it nobody knows what was listed."""
    first = scan(source, root)
    write_wav(source / "maybe" / "s7-take.wav")
    second = scan(source, root, since=str(first.text))
    where = Path(str(first.text))
    write_manifest(where.parent, json.loads(where.read_text()))
    with pytest.raises(BadInventory, match="identity"):
        scan(source, root, since=str(second.text))
    where.unlink()
    with pytest.raises(MissingManifest):
        scan(source, root, since=str(second.text))


def test_what_was_dropped_comes_again(source: Path, root: Path) -> None:
    """A recording that was left out for want of a label is no part of the earlier listing."""
    first = scan(source, root, pattern="(?P<label>no)/.*", unlabelled="drop")
    second = scan(
        source, root, pattern="(?P<label>yes)/.*", unlabelled="drop", since=str(first.text)
    )
    assert [f"yes/s{number}-take.wav" for number in (0, 2, 4, 6)] == paths(second)


@given(st.sets(st.text("abé/", min_size=1, max_size=4)), st.integers(1, 20), st.integers(1, 20))
def test_a_larger_sample_contains_a_smaller_one(paths: set[str], one: int, other: int) -> None:
    """In the order of the paths, whatever batches they come in."""
    ordered = sorted(paths, key=str.encode)
    whole = [batch_of(path=ordered[at : at + 3]) for at in range(0, len(ordered), 3)]
    taken = [
        [path for batch in sample_rows(whole, most, Tally()) for path in batch[0].to_pylist()]
        for most in sorted((one, other))
    ]
    assert [min(most, len(paths)) for most in sorted((one, other))] == [*map(len, taken)]
    assert set(taken[0]) <= set(taken[1])
    assert all(sorted(each, key=str.encode) == each for each in taken)


def test_a_scan_of_a_sample(source: Path, root: Path) -> None:
    """A run of its own, with labels; all recordings that it has are those of the whole."""
    data = scan(source, root, limit=3).data
    assert (3, 3) == (data["recordings"], data["labelled"])
    assert scan(source, root, limit=3).data["already_committed"]
    assert 7 == scan(source, root).data["recordings"]
