"""Every way in which shards can differ from their manifest is found, and named."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.records.index import HEADER_BYTES, dump
from audioloom_manifest.records.tfrecord import frame, masked_crc, read
from manifest_editing import edit_list, edit_manifest, write_manifest
from sharder_features import make_features, windows
from sharder_forging import records_of, relist, rewrite, shards_of

ROWS = windows(100, groups=50)


@pytest.fixture
def run(sharder: Callable, tmp_path: Path) -> Opened:
    """A committed run of 100 records on four lanes."""
    features = make_features(tmp_path, [ROWS[:60], ROWS[60:]])
    return read_manifest(sharder("run", features.folder, "--lanes", "4").out.strip(), "shards")


def _problems(sharder: Callable, run: Opened, *words: str) -> str:
    ran = sharder("verify", run.folder, *words)
    assert 65 == ran.code
    assert re.search(r": (1 problem|\d+ problems)\n", ran.out)
    return str(ran.out)


# --- damage --------------------------------------------------------------------------------------


def test_a_missing_shard_is_named(sharder: Callable, run: Opened) -> None:
    """Presence."""
    gone = shards_of(run)[1]
    gone.unlink()
    assert f"{gone}: expected a file" in _problems(sharder, run)


@pytest.mark.parametrize("cut", [1, 5, 12, 40])
def test_a_truncated_shard_is_named(sharder: Callable, run: Opened, cut: int) -> None:
    """Anywhere, inside a header too, where TensorFlow reads on without a word."""
    path = shards_of(run)[0]
    path.write_bytes(path.read_bytes()[:-cut])
    assert str(path) in _problems(sharder, run)


def test_a_shard_cut_between_records_is_named(sharder: Callable, run: Opened) -> None:
    """Even when list and manifest were made to agree with it: the counts do not."""
    path = shards_of(run)[0]
    rewrite(path, records_of(path)[:-1])
    relist(run)
    text = _problems(sharder, run)
    assert str(path) in text
    assert "split train: expected" in text


def test_a_flipped_bit_is_named(sharder: Callable, run: Opened) -> None:
    """By the checksum of the file and by that of the record."""
    path = shards_of(run)[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 4
    path.write_bytes(bytes(data))
    text = _problems(sharder, run)
    assert f"{path}: expected SHA-256" in text
    assert "checksum of the payload" in text


def test_swapped_shards_are_named(sharder: Callable, run: Opened) -> None:
    """Each is whole, and neither is what its entry says."""
    one, two = shards_of(run)[:2]
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    text = _problems(sharder, run)
    assert str(one) in text
    assert str(two) in text


def _cut(one: Path, _: Path) -> None:
    one.write_bytes(one.read_bytes()[:-1])


def _lose(one: Path, _: Path) -> None:
    one.unlink()


def _flip(one: Path, _: Path) -> None:
    data = bytearray(one.read_bytes())
    data[len(data) // 2] ^= 1
    one.write_bytes(data)


def _swap(one: Path, other: Path) -> None:
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


@pytest.mark.parametrize("damage", [_cut, _lose, _flip, _swap])
def test_damage_in_any_split_is_named(
    sharder: Callable, run: Opened, damage: Callable[[Path, Path], None]
) -> None:
    """A shard and an index of each split, all told at once."""
    files = [
        [Path(run.folder.path, one.path) for one in run.files(role) if one.split == split]
        for split in ("train", "val", "test")
        for role in ("shard", "index")
    ]
    for some in files:
        damage(some[1], some[2])
    said = sharder("verify", run.folder, "--json").data["problems"]
    for some in files:
        for path in some[1 : 3 if damage is _swap else 2]:
            assert any(str(path) in problem for problem in said), path


def test_a_wrong_index_is_named(sharder: Callable, run: Opened) -> None:
    """An index of the right size that points elsewhere."""
    shard = shards_of(run)[0]
    index = shard.with_name(shard.name.replace(".tfrecord", ".idx.npy"))
    rows = np.load(index)
    rows[0, 2] += 4
    index.write_bytes(dump(rows))
    relist(run)
    assert f"{index}: does not say where the records of its shard are" in _problems(sharder, run)


def test_a_flipped_bit_in_the_header_of_an_index_is_named(sharder: Callable, run: Opened) -> None:
    """Also where NumPy takes the header for the beginning of a longer text."""
    shard = shards_of(run)[0]
    index = shard.with_name(shard.name.replace(".tfrecord", ".idx.npy"))
    data = bytearray(index.read_bytes())
    data[data.index(b"{")] ^= 64
    index.write_bytes(data)
    assert f"{index}: not a NumPy file of numbers" in _problems(sharder, run)


def test_shards_that_are_not_listed_are_one_problem(sharder: Callable, run: Opened) -> None:
    """However many the manifest claims."""
    claims = {"shards": 10**12, "records": 10**12}
    edit_manifest(run, lambda value: value["stats"]["splits"]["train"].update(claims))
    text = _problems(sharder, run, "--no-inputs")
    assert "train: the list of files lacks 999,999,999,9" in text
    assert 1 == text.count("the list of files lacks")


def test_a_shard_that_is_not_listed_is_named(sharder: Callable, run: Opened) -> None:
    """By its number, as is one beyond the number of shards."""
    train = ("train", 1)
    edit_list(run, lambda files: files.remove(_listed(files, *train, "shard")))
    assert "train 00001: the list of files lacks shard or index" in _problems(sharder, run)
    edit_list(run, lambda files: files.remove(_listed(files, *train, "index")))
    text = _problems(sharder, run)
    assert "train: the list of files lacks 1 of 4 shards, the first is 00001" in text
    edit_list(run, lambda files: _listed(files, "train", 3, "shard").update(shard=9))
    assert "train: shard 9 of 4" in _problems(sharder, run)


def _listed(files: list[dict], split: str, shard: int, role: str) -> dict:
    wanted = (split, shard, role)
    return next(one for one in files if (one["split"], one["shard"], one["role"]) == wanted)


# --- forgeries: everything agrees with everything, except with what it was made from --------------


def test_a_record_of_another_split_is_named(sharder: Callable, run: Opened) -> None:
    """A group in two splits, its checksums, index, list and identity all made to fit."""
    train, test = shards_of(run)[0], shards_of(run, "test")[0]
    mine, other = records_of(train), records_of(test)
    mine[0], other[0] = other[0], mine[0]
    rewrite(train, mine)
    rewrite(test, other)
    relist(run)
    text = _problems(sharder, run, "--no-inputs")
    assert f"{train}: record 0: the group '{mine[0].group}' belongs to split test" in text


def test_a_record_twice_is_named(sharder: Callable, run: Opened) -> None:
    """In the place of another one."""
    path = shards_of(run)[0]
    records = records_of(path)
    records[1] = records[0]
    rewrite(path, records)
    relist(run)
    text = _problems(sharder, run)
    assert f"{path}: record 1 is out of order, or occurs twice" in text
    assert "not the windows of the features" in text


def test_a_wrong_label_number_is_named(sharder: Callable, run: Opened) -> None:
    """The number has to be that of the label."""
    path = shards_of(run)[0]
    records = records_of(path)
    records[0] = records[0]._replace(label_id=(records[0].label_id + 1) % 3)
    rewrite(path, records)
    relist(run)
    assert f"{path}: record 0: expected number" in _problems(sharder, run, "--no-inputs")


def test_other_values_are_found(sharder: Callable, run: Opened) -> None:
    """One value of one record changed, and everything else made to fit."""
    path = shards_of(run)[0]
    records = records_of(path)
    records[0] = records[0]._replace(values=struct.pack("<f", 9.0) + bytes(records[0].values)[4:])
    rewrite(path, records)
    relist(run)
    assert "with its own values" in _problems(sharder, run)
    assert "the mean of the coefficients" in sharder("verify", run.folder, "--no-inputs").out


@pytest.mark.parametrize("what", ["mean", "variance"])
def test_other_stats_of_the_targets_are_named(sharder: Callable, tmp_path: Path, what: str) -> None:
    """The records are added up again, and a claim that is off by little is another."""
    rows = [replace(row, target=at / 7) for at, row in enumerate(ROWS)]
    ran = sharder("run", make_features(tmp_path, [rows]).folder, "--target", "number")
    run = read_manifest(ran.out.strip(), "shards")
    assert 0 == sharder("verify", run.folder).code
    value = run.manifest.to_json()
    value["stats"]["splits"]["val"]["targets"][what] *= 1 + 1e-9
    write_manifest(Path(run.folder.path), value, run.files())
    assert "split val: expected targets of" in sharder("verify", run.folder, "--no-inputs").out


def test_a_record_in_another_form_is_named(sharder: Callable, run: Opened) -> None:
    """An Example that TensorFlow would read, with an unknown feature in it."""
    from tensorflow.core.example.example_pb2 import Example

    path = shards_of(run)[0]
    with path.open("rb") as stream:
        payloads = [one.payload for one in read(stream)]
    example = Example.FromString(payloads[0])
    example.features.feature["extra"].int64_list.value.append(1)
    payloads[0] = example.SerializeToString()
    path.write_bytes(b"".join(map(frame, payloads)))
    relist(run)
    assert "an unknown feature 'extra'" in _problems(sharder, run)


def test_an_enormous_record_is_named(sharder: Callable, run: Opened) -> None:
    """A length that would exhaust memory, with a right checksum."""
    path = shards_of(run)[0]
    length = struct.pack("<Q", 1 << 50)
    data = length + struct.pack("<I", masked_crc(length)) + path.read_bytes()[HEADER_BYTES:]
    path.write_bytes(data)
    assert "a payload of 1125899906842624 bytes" in _problems(sharder, run)


def test_other_inputs_are_told(sharder: Callable, run: Opened, tmp_path: Path) -> None:
    """Features that were deleted cannot be compared: told, and to be passed over on request."""
    shutil.rmtree(tmp_path / "features")
    text = _problems(sharder, run)
    assert "input: " in text
    assert str(tmp_path / "features") in text
    ran = sharder("verify", run.folder, "--no-inputs")
    assert 0 == ran.code
    assert "inputs not read" in ran.out


def test_another_algorithm_is_refused(sharder: Callable, run: Opened) -> None:
    """What a later release assigned, this one cannot check."""
    relist(run, algorithm=2)
    ran = sharder("verify", run.folder)
    assert 65 == ran.code
    assert "algorithm 2" in ran.err


@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_a_changed_recipe_is_refused(sharder: Callable, run: Opened, command: str) -> None:
    """The identity is worked out again, and both are told, with the manifest that lies."""
    path = Path(run.location.path)
    value = json.loads(path.read_text())
    value["recipe"]["seed"] = 8
    path.write_text(json.dumps(value))
    ran = sharder(command, run.folder)
    assert 65 == ran.code
    assert f"found     {run.manifest.identity}" in ran.err
    assert str(run.location) in ran.err


@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_what_is_no_shards_run_is_refused(
    sharder: Callable, run: Opened, tmp_path: Path, command: str
) -> None:
    """A features manifest, or nothing at all."""
    features = next((tmp_path / "features").iterdir())
    ran = sharder(command, features)
    assert 65 == ran.code
    assert "a features manifest" in ran.err
    assert 66 == sharder(command, tmp_path / "nothing").code


# --- and what is right ---------------------------------------------------------------------------


def test_a_good_run_verifies(sharder: Callable, run: Opened) -> None:
    """In words and as data."""
    ran = sharder("verify", run.folder)
    assert (0, "all as the manifest says" in ran.out) == (ran.code, True)
    data = sharder("verify", run.location, "--json").data
    assert (True, 100, []) == (data["ok"], data["records"], data["problems"])
