"""The whole stage on real files: same content, same bytes; every record once; what is refused."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean, pvariance
from typing import Any

import numpy as np
import pytest
from audioloom_manifest import Headerless, Opened, ShardsManifest, read_manifest
from audioloom_manifest.parquet import feature_bytes
from audioloom_manifest.records.example import Record, decode
from audioloom_manifest.records.tfrecord import read
from audioloom_sharder.inputs import reader as features_module
from audioloom_sharder.steps import encode, job, merge
from sharder_features import (
    REAL,
    Window,
    commit_features,
    feature_of,
    make_features,
    parquet_of,
    relabelled,
    values_of,
    windows,
)
from sharder_forging import relist

ROWS = windows(120, each=2)


def committed(out: str) -> Opened[ShardsManifest]:
    """The run whose manifest was printed."""
    return read_manifest(out.strip(), "shards")


def contents(folder: Path) -> dict[str, bytes]:
    """The data files of a run."""
    return {path.name: path.read_bytes() for path in (folder / "shards").iterdir()}


def records_of(opened: Opened[ShardsManifest]) -> dict[str, list[Record]]:
    """All records by split, shard after shard."""
    found: dict[str, list[Record]] = defaultdict(list)
    for entry in sorted(opened.files("shard"), key=lambda one: (one.split, one.shard)):
        with Path(opened.folder.path, entry.path).open("rb") as stream:
            found[str(entry.split)] += [decode(one.payload) for one in read(stream)]
    return found


# --- what is refused -----------------------------------------------------------------------------


def test_no_group_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """With the number of such windows, the first of them, and the three ways out."""
    features = make_features(tmp_path, [relabelled(ROWS, 3, group=None)])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "none in 1 of 240 windows, the first b/00001.wav, window 1" in ran.err
    assert "--ungrouped by-recording" in ran.err
    assert "" == ran.out


def test_no_label_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """A class cannot be learned from a window that has none; an empty label is none."""
    features = make_features(tmp_path, [relabelled(ROWS, 0, label="")])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "a label for every window" in ran.err
    assert str(features.folder) in ran.err
    assert "--target number" in ran.err


def test_a_label_outside_the_vocabulary_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Named, with the window that has it."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, "--labels", "a,b")
    assert 65 == ran.code
    assert "labels out of a, b" in ran.err
    assert "label 'c'" in ran.err


@pytest.mark.parametrize("target", [None, float("nan"), float("inf"), -1e39])
def test_a_target_that_is_no_number_is_refused(
    sharder: Callable, tmp_path: Path, target: float | None
) -> None:
    """Missing, NaN and infinite alike."""
    rows = [Window(f"{i}.wav", group=f"g{i}", target=1.0) for i in range(50)]
    features = make_features(tmp_path, [relabelled(rows, 7, target=target)])
    ran = sharder("run", features.folder, "--target", "number")
    assert 65 == ran.code
    assert "a finite number as target for every window" in ran.err


def test_an_empty_split_is_refused_by_name(sharder: Callable, tmp_path: Path) -> None:
    """Two groups cannot fill three splits."""
    features = make_features(tmp_path, [windows(20, groups=2)])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "no group falls into the split" in ran.err
    assert not (tmp_path / "shards").exists() or not list(tmp_path.glob("shards/*/manifest.json"))


def test_a_window_twice_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """In one file or in two: with the window and the files."""
    features = make_features(tmp_path, [ROWS, ROWS[10:11]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "window 0 of channel -1 of c/00005.wav twice" in ran.err
    assert "00000-" in ran.err
    assert "00001-" in ran.err


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("feature.shape", {"feature": feature_of((4, 5))}),
        ("feature.dtype", {"feature": feature_of(dtype="float16")}),
        (
            "feature.parameters.n_fft",
            {"feature": feature_of().model_copy(update={"parameters": {"n_fft": 512}})},
        ),
        ("feature.sample_rate", {"feature": feature_of().model_copy(update={"sample_rate": 8000})}),
        ("engine", {"engine": "librosa"}),
        ("channels", {"channels": "left"}),
        (
            "headerless.channels",
            {"headerless": Headerless(coding="alaw", sample_rate=8000, channels=1)},
        ),
        ("algorithm", {"algorithm": 2}),
    ],
)
def test_inputs_of_different_recipes_are_refused(
    sharder: Callable, tmp_path: Path, field: str, other: dict[str, Any]
) -> None:
    """Naming the field, whatever kind it is, with both values and where each stands."""
    one = make_features(tmp_path, [ROWS[:9]])
    feature = other.get("feature", feature_of())
    two = commit_features(
        tmp_path,
        [parquet_of(windows(9), feature)],
        feature,
        windows=9,
        recordings=9,
        source="two",
        **{name: value for name, value in other.items() if name != "feature"},
    )
    ran = sharder("plan", one.folder, two.folder)
    assert 65 == ran.code
    assert f"{field} = " in ran.err
    assert str(one.folder) in ran.err
    assert str(two.folder) in ran.err


def test_inputs_may_be_cut_into_units_as_they_like(sharder: Callable, tmp_path: Path) -> None:
    """What does not show in a window may differ."""
    one = make_features(tmp_path, [windows(60, groups=30)])
    rows = [replace(row, path=f"more/{row.path}") for row in windows(60, groups=30)]
    two = commit_features(
        tmp_path,
        [parquet_of(rows, feature_of())],
        feature_of(),
        windows=60,
        recordings=60,
        source="two",
        unit_bytes=1 << 20,
        unit_recordings=7,
    )
    assert 0 == sharder("plan", one.folder, two.folder).code


def test_the_same_input_twice_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Its windows would all be duplicates."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, features.location)
    assert 65 == ran.code
    assert "the same run twice" in ran.err


def test_features_without_windows_are_refused(sharder: Callable, tmp_path: Path) -> None:
    """Nothing to shard."""
    features = make_features(tmp_path, [[]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "windows of features" in ran.err


OTHER = "sha256:" + "0" * 64


def _edit(features: Opened, change: Callable[[dict], None]) -> Path:
    path = Path(features.location.path)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (lambda value: value.update(version="2.0"), 65, "version 2.0"),
        (lambda value: value.update(kind="shards"), 65, "a shards manifest"),
        (lambda value: value.update(kind="cats"), 65, "'cats'"),
        (lambda value: value["files"].update(name="../files.jsonl"), 65, "files.name"),
        (lambda value: value["files"].update(sha256="0" * 64), 65, "SHA-256"),
        (lambda value: value["recipe"]["feature"].update(name="logmel"), 65, "the identity of"),
        (lambda value: value["inputs"][0].update(identity=OTHER), 65, "the identity of"),
        (lambda value: value.update(identity=OTHER), 65, f"found     {OTHER}"),
    ],
)
def test_bad_manifests_are_refused(
    sharder: Callable, tmp_path: Path, change: Callable[[dict], None], code: int, text: str
) -> None:
    """Unknown major, wrong kind, a path that leaves, a wrong checksum: told by name."""
    features = make_features(tmp_path, [ROWS])
    path = _edit(features, change)
    ran = sharder("run", path)
    assert code == ran.code, ran.err
    assert text in ran.err
    assert str(tmp_path) in ran.err
    assert not (tmp_path / "shards").exists()


def test_another_feature_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """In features that are what they say: of a later release, perhaps."""
    features = make_features(tmp_path, [ROWS])
    feature = features.manifest.recipe.feature.model_copy(update={"name": "logmel"})
    relist(features, feature=feature)
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "the feature mfcc" in ran.err


def test_a_truncated_manifest_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Cut in the middle."""
    features = make_features(tmp_path, [ROWS])
    path = Path(features.location.path)
    path.write_bytes(path.read_bytes()[:200])
    ran = sharder("run", path)
    assert 65 == ran.code
    assert "a JSON object" in ran.err


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_missing_input_is_told(sharder: Callable, tmp_path: Path, command: str) -> None:
    """Exit code 66 and the path that was looked at."""
    ran = sharder(command, tmp_path / "features" / "nothing")
    assert 66 == ran.code
    assert f"{tmp_path}/features/nothing/manifest.json" in ran.err


def _features_file(features: Opened) -> Path:
    return Path(features.folder.path, features.files("features")[0].path)


def test_a_missing_features_file_is_told(sharder: Callable, tmp_path: Path) -> None:
    """The manifest stands, its data does not."""
    features = make_features(tmp_path, [ROWS])
    _features_file(features).unlink()
    ran = sharder("run", features.folder)
    assert 66 == ran.code
    assert _features_file(features).name in ran.err


def test_a_cut_features_file_is_told(sharder: Callable, tmp_path: Path) -> None:
    """By its size, before it is opened."""
    features = make_features(tmp_path, [ROWS])
    path = _features_file(features)
    path.write_bytes(path.read_bytes()[:-9])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert path.name in ran.err


def test_a_rotten_features_file_is_told(sharder: Callable, tmp_path: Path) -> None:
    """One flipped bit among the values is found by the checksum, and nothing is committed."""
    features = make_features(tmp_path, [ROWS])
    path = _features_file(features)
    data = bytearray(path.read_bytes())
    at = bytes(data).index(values_of(ROWS[0], feature_of()).tobytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "SHA-256" in ran.err
    assert path.name in ran.err
    assert not list(tmp_path.glob("shards/*/manifest.json"))


def test_a_taken_name_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Another recipe under the same name: 73, naming the field, and the old run stays."""
    features = make_features(tmp_path, [ROWS])
    assert 0 == sharder("run", features.folder, "--name", "mine").code
    before = contents(tmp_path / "shards" / "mine")
    ran = sharder("run", features.folder, "--name", "mine", "--seed", "1")
    assert 73 == ran.code
    assert "seed = 0 there, 1 asked for" in ran.err
    assert before == contents(tmp_path / "shards" / "mine")


# --- what comes out ------------------------------------------------------------------------------


def test_every_window_once_with_its_values(sharder: Callable, tmp_path: Path) -> None:
    """All rows, each in one split only, and their values bit for bit."""
    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    opened = committed(sharder("run", features.folder, "--lanes", "4").out)
    records = records_of(opened)
    by_key = {(row.path, row.window): row for row in ROWS}
    found = [(one.path, one.window) for some in records.values() for one in some]
    assert sorted(by_key) == sorted(found)
    labels = opened.manifest.stats.labels
    assert ("a", "b", "c") == labels
    for some in records.values():
        for one in some:
            row = by_key[one.path, one.window]
            assert values_of(row, feature_of()).tobytes() == one.mfcc
            assert (row.label, row.group) == (one.label, one.group)
            assert one.label == labels[one.label_id]
            assert (-1, 3, None) == (one.channel, one.valid_frames, one.target)
    groups = [{one.group for one in some} for some in records.values()]
    assert not groups[0] & groups[1]
    assert not groups[0] & groups[2]
    assert not groups[1] & groups[2]


def test_stats_are_counts_of_what_is_there(sharder: Callable, tmp_path: Path) -> None:
    """Records, recordings, groups, bytes and labels of every split; shards are even."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, "--lanes", "6").out)
    records = records_of(opened)
    for name, stats in opened.manifest.stats.splits.items():
        some = records[name]
        assert stats.records == len(some)
        assert stats.recordings == len({one.path for one in some})
        assert stats.groups == len({one.group for one in some})
        assert stats.labels == {
            label: sum(one.label == label for one in some)
            for label in sorted({one.label for one in some})
        }
        entries = [one for one in opened.files("shard") if one.split == name]
        assert stats.shards == len(entries)
        assert stats.bytes == sum(one.bytes for one in entries)
        sizes = [one.records for one in sorted(entries, key=lambda one: one.shard)]
        assert max(sizes) - min(sizes) <= 1
        assert sorted(sizes, reverse=True) == sizes
        assert 0 == stats.shards % stats.lanes


def test_stats_of_the_coefficients_are_those_of_the_split(
    sharder: Callable, tmp_path: Path
) -> None:
    """Mean and variance over all frames of its records, and of no other split's."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    shape = opened.manifest.stats.feature.shape
    for name, some in records_of(opened).items():
        values = np.stack([np.frombuffer(one.mfcc, "<f4").reshape(shape) for one in some])
        wide = values.astype(np.float64)
        stats = opened.manifest.stats.splits[name].coefficients
        np.testing.assert_allclose(stats.mean, wide.mean(axis=(0, 2)), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(stats.variance, wide.var(axis=(0, 2)), rtol=1e-6, atol=1e-6)


def test_the_index_says_where_values_are(sharder: Callable, tmp_path: Path) -> None:
    """Every row of every index leads to its record and to the bytes of its values."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    folder = Path(opened.folder.path)
    for entry in opened.files("index"):
        shard = folder / entry.path.replace(".idx.npy", ".tfrecord")
        data = shard.read_bytes()
        rows = np.load(folder / entry.path, allow_pickle=False)
        assert entry.records == len(rows)
        with shard.open("rb") as stream:
            for (offset, length, values, label), one in zip(rows, read(stream), strict=True):
                record = decode(one.payload)
                assert (one.offset, one.length, record.label_id) == (offset, length, label)
                assert record.mfcc == data[values : values + len(record.mfcc)]


def test_another_file_layout_gives_the_same_bytes(sharder: Callable, tmp_path: Path) -> None:
    """Rows in another order, in other files: the same shards byte for byte."""
    one = make_features(tmp_path / "one", [ROWS[:100], ROWS[100:]])
    shuffled = [ROWS[i] for i in np.random.default_rng(1).permutation(len(ROWS))]
    parts = [shuffled[:7], [], shuffled[7:150], shuffled[150:]]
    other = make_features(tmp_path / "other", parts, row_group=9)
    first, second = (committed(sharder("run", each.folder).out) for each in (one, other))
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))
    assert first.manifest.stats == second.manifest.stats


def test_two_inputs_give_the_bytes_of_one(sharder: Callable, tmp_path: Path) -> None:
    """One features run or two with the same rows between them, in any order."""
    whole = make_features(tmp_path / "whole", [ROWS])
    one = make_features(tmp_path / "parts", [ROWS[:50]], source="one")
    two = make_features(tmp_path / "parts", [ROWS[50:]], source="two")
    runs = [
        committed(sharder("run", *places).out)
        for places in ([whole.folder], [one.folder, two.folder])
    ]
    assert contents(Path(runs[0].folder.path)) == contents(Path(runs[1].folder.path))
    again = sharder("run", two.folder, one.folder, "--json").data
    assert again["already_committed"]
    assert 2 == len(runs[1].manifest.inputs)


def test_small_runs_and_windows_change_no_byte(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little is held in memory at once, the shards are the same."""
    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    first = committed(sharder("run", features.folder, "--name", "large", "--lanes", "1").out)
    monkeypatch.setattr(encode, "_RUN_BYTES", 1000)
    monkeypatch.setattr(merge, "_WINDOW_BYTES", 1500)
    monkeypatch.setattr(features_module, "_HELD_BYTES", 1000)
    second = committed(sharder("run", features.folder, "--name", "small", "--lanes", "1").out)
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))


def test_memory_does_not_grow_with_what_a_task_reads_or_writes(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file into one shard: six times the payload takes no more than the same rooms."""
    monkeypatch.setattr(encode, "_RUN_BYTES", 1 << 20)
    monkeypatch.setattr(merge, "_WINDOW_BYTES", 1 << 20)
    monkeypatch.setattr(features_module, "_HELD_BYTES", 1 << 20)
    peaks = []
    for count in (10, 60, 360):  # the first for what is imported on the way
        rows, feature = windows(count), feature_of(REAL)
        features = make_features(tmp_path / str(count), [rows], feature=feature, row_group=20)
        tracemalloc.start()
        sharder("run", features.folder, "--lanes", "1", "--shards", "1", "--split", "train=1")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    _, small, large = peaks
    assert large - small < 300 * feature_bytes(feature_of(REAL)) / 10


def test_many_ranges_change_no_byte(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranked at once or range by range, the shards and the counts are the same."""
    from audioloom_sharder.sharding import ranking

    features = make_features(tmp_path, [ROWS[:100], ROWS[100:]])
    first = committed(sharder("run", features.folder, "--name", "one").out)
    monkeypatch.setattr(ranking, "_RANGE_RECORDS", 17)
    second = committed(sharder("run", features.folder, "--name", "many").out)
    assert contents(Path(first.folder.path)) == contents(Path(second.folder.path))
    assert first.manifest.stats == second.manifest.stats
    assert first.manifest.identity == second.manifest.identity


def test_deleted_and_rerun_is_the_same_run(sharder: Callable, tmp_path: Path) -> None:
    """Same name, same identity, same checksums; between the two, nothing was kept."""
    features = make_features(tmp_path, [ROWS])
    first = committed(sharder("run", features.folder).out)
    data = contents(Path(first.folder.path))
    shutil.rmtree(first.folder.path)
    second = committed(sharder("run", features.folder).out)
    assert first.folder == second.folder
    assert first.manifest.identity == second.manifest.identity
    assert first.files() == second.files()
    assert data == contents(Path(second.folder.path))


def test_a_rerun_answers_already_committed(sharder: Callable, tmp_path: Path) -> None:
    """The same answer on stdout, nothing written, and no Spark."""
    features = make_features(tmp_path, [ROWS])
    first = sharder("run", features.folder)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    second = sharder("run", features.folder, "--master", "local[2]")
    assert (0, first.out) == (second.code, second.out)
    assert "already committed" in second.err
    assert "Spark" not in second.err
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_a_rerun_tells_that_files_are_gone(sharder: Callable, tmp_path: Path) -> None:
    """The manifest alone is no success: a missing shard is named, with what to do."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    gone = opened.files("shard")[0].path
    Path(opened.folder.path, gone).unlink()
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert gone in ran.err
    assert "run again" in ran.err


@pytest.mark.parametrize("options", [(), ("--compression", "gzip")])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_shard_of_an_earlier_try_that_has_another_size_is_refused(
    sharder: Callable, tmp_path: Path, change: int, options: tuple[str, ...]
) -> None:
    """Its name says what it held once: cut short or longer, it is named and not committed."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, *options).out)
    shard = opened.files("shard")[0]
    Path(opened.location.path).unlink()  # as if the try had ended before its commit
    os.truncate(f"{opened.folder.path}/{shard.path}", shard.bytes + change)
    ran = sharder("run", features.folder, *options)
    assert (65, "") == (ran.code, ran.out)
    assert shard.path in ran.err
    assert f"{shard.bytes} bytes" in ran.err
    assert "remove it and run again" in ran.err
    assert not Path(opened.location.path).exists()
    Path(opened.folder.path, shard.path).unlink()
    again = committed(sharder("run", features.folder, *options).out)
    assert opened.manifest.identity == again.manifest.identity


def test_nothing_between_the_steps_stays(sharder: Callable, tmp_path: Path) -> None:
    """A finished run holds its data, its list, its receipts and its manifest."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    names = sorted(path.name for path in Path(opened.folder.path).iterdir())
    assert [opened.manifest.files.name, "manifest.json", "receipts", "shards", "splits"] == names
    assert not (Path(opened.folder.path) / job.WORK).exists()


def test_finished_units_are_not_done_again(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that failed in its last step goes on there: neither features nor segments are made."""
    from audioloom_sharder.commands import run as shard

    features = make_features(tmp_path, [ROWS])
    whole = committed(sharder("run", features.folder, "--name", "whole").out)
    real, done = shard.make_shards, []

    def fail_at_third(*arguments: object) -> object:
        done.append(arguments[-1])
        if len(done) == 3:
            raise OSError(5, "the disk is gone")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(shard, "make_shards", fail_at_third)
    assert 0 != sharder("run", features.folder, "--name", "part").code

    def never(*_: object) -> None:
        pytest.fail("done again")

    for name in ("scan_source", "rank_range", "make_segment"):
        monkeypatch.setattr(shard, name, never)
    done.append(None)
    opened = committed(sharder("run", features.folder, "--name", "part").out)
    assert contents(Path(whole.folder.path)) == contents(Path(opened.folder.path))
    units = len(list((tmp_path / "shards" / "whole" / "receipts").iterdir()))
    assert units == len(done) - 2 + 1  # the splits file


def test_the_order_of_splits_in_the_wish_does_not_matter(sharder: Callable, tmp_path: Path) -> None:
    """The same run by another order of words."""
    features = make_features(tmp_path, [ROWS])
    assert 0 == sharder("run", features.folder, "--split", "train=0.5,test=0.5").code
    again = sharder("run", features.folder, "--split", "test=0.5,train=0.5", "--json")
    assert again.data["already_committed"]


def test_adding_data_moves_no_group(sharder: Callable, tmp_path: Path) -> None:
    """Whoever was in test stays there when more recordings come."""
    few = make_features(tmp_path / "few", [windows(200, groups=100)])
    more = make_features(tmp_path / "more", [windows(900, groups=333)])
    one, two = (records_of(committed(sharder("run", each.folder).out)) for each in (few, more))
    before = {record.group: name for name, some in one.items() for record in some}
    after = {record.group: name for name, some in two.items() for record in some}
    assert before == {group: after[group] for group in before}


def test_another_seed_is_another_run(sharder: Callable, tmp_path: Path) -> None:
    """Beside the old one."""
    features = make_features(tmp_path, [ROWS])
    one, two = (sharder("run", features.folder, "--seed", seed).out for seed in (0, 1))
    assert one != two
    assert 2 == len(list((tmp_path / "shards").iterdir()))


def test_half_precision_is_stored_as_bytes(sharder: Callable, tmp_path: Path) -> None:
    """float16 has no place in an Example but as bytes; the values are the same."""
    feature = feature_of(dtype="float16")
    features = make_features(tmp_path, [ROWS], feature=feature)
    opened = committed(sharder("run", features.folder).out)
    assert "float16" == opened.manifest.stats.feature.dtype
    rows = {(row.path, row.window): row for row in ROWS}
    for some in records_of(opened).values():
        for one in some:
            assert values_of(rows[one.path, one.window], feature).tobytes() == one.mfcc


def test_numbers_are_learned_without_labels(sharder: Callable, tmp_path: Path) -> None:
    """With --target number a label may be missing: its number is -1. Mean and variance are told."""
    rows = [
        Window(f"{i}.wav", group=f"g{i}", target=i / 4, label="x" if i % 2 else None)
        for i in range(60)
    ]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder, "--target", "number").out)
    assert ("x",) == opened.manifest.stats.labels
    for some in records_of(opened).values():
        for one in some:
            number = int(one.path.removesuffix(".wav"))
            assert (number / 4, 0 if number % 2 else -1) == (one.target, one.label_id)
    for name, split in opened.manifest.stats.splits.items():
        mine = [one.target for one in records_of(opened)[name]]
        assert split.targets is not None
        assert (mean(mine), pvariance(mine)) == (split.targets.mean, split.targets.variance)
    train = opened.manifest.stats.splits["train"].targets
    assert f"{train.mean:.4g} ± {train.variance**0.5:.4g}" in sharder("inspect", opened.folder).out


def test_of_labels_there_is_no_mean(sharder: Callable, tmp_path: Path) -> None:
    """Numbers that lie in the features but are not learned say nothing of the shards."""
    rows = [Window(f"{i}.wav", group=f"g{i}", target=i / 4, label="ab"[i % 2]) for i in range(60)]
    opened = committed(sharder("run", make_features(tmp_path, [rows]).folder).out)
    assert {None} == {split.targets for split in opened.manifest.stats.splits.values()}
    assert "targets" not in sharder("inspect", opened.folder).out


def test_windows_are_left_out_as_asked_for(sharder: Callable, tmp_path: Path) -> None:
    """The rest is what it would be if they had never been there; what was left out is counted."""
    odd = [
        replace(row, flags=("silent",), seconds=0.2) if at % 7 == 0 else row
        for at, row in enumerate(ROWS)
    ]
    calm = [row for at, row in enumerate(ROWS) if at % 7 and row.label in "ac"]
    words = ("--only-labels", "c,a", "--without-flags", "silent", "--min-seconds", "0.5")
    some = make_features(tmp_path / "some", [odd[:33], odd[33:]])
    ran = sharder("run", some.folder, *words)
    opened = committed(ran.out)
    whole = committed(sharder("run", make_features(tmp_path / "calm", [calm]).folder).out)
    assert contents(Path(whole.folder.path)) == contents(Path(opened.folder.path))
    others = sum(row.label == "b" for row in odd)
    left = {
        "another label": others,
        "flag silent": len(odd) - others - len(calm),
        "too short": 0,
    }
    assert left == opened.manifest.stats.excluded
    assert f"{others} windows are left out (another label)" in ran.err
    assert 0 == sharder("verify", opened.folder).code
    other = sharder("run", some.folder, *words[:2])
    assert opened.manifest.name != committed(other.out).manifest.name


def test_filters_in_another_order_are_the_same(sharder: Callable, tmp_path: Path) -> None:
    """A set has no order, and its run one name."""
    features = make_features(tmp_path, [ROWS])
    names = {
        committed(sharder("run", features.folder, "--only-labels", words).out).manifest.name
        for words in ("a,b", "b,a")
    }
    assert 1 == len(names)


def test_filters_that_leave_nothing_are_refused(sharder: Callable, tmp_path: Path) -> None:
    """With the counts that show why."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, "--only-labels", "z")
    assert 65 == ran.code
    assert f"none: {len(ROWS)} another label" in ran.err


def test_a_window_that_should_have_been_left_out_is_found(
    sharder: Callable, tmp_path: Path
) -> None:
    """`verify` filters the features again."""
    odd = [replace(row, flags=("silent",)) if not at else row for at, row in enumerate(ROWS)]
    features = make_features(tmp_path, [odd])
    opened = committed(sharder("run", features.folder).out)
    relist(opened, without_flags=("silent",))
    assert "{'flag silent': 1}" in sharder("verify", opened.folder).out


def test_the_vocabulary_counts_from_zero_as_given(sharder: Callable, tmp_path: Path) -> None:
    """Labels that do not occur keep their number."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, "--labels", "zzz, c ,b,a").out)
    assert ("zzz", "c", "b", "a") == opened.manifest.stats.labels
    ids = {one.label: one.label_id for some in records_of(opened).values() for one in some}
    assert {"c": 1, "b": 2, "a": 3} == ids


def test_recordings_stand_in_for_groups(sharder: Callable, tmp_path: Path) -> None:
    """--ungrouped by-recording: no recording in two splits, and a word about it."""
    rows = [Window(f"{i}.wav", group=None, window=w) for i in range(60) for w in range(3)]
    features = make_features(tmp_path, [rows])
    ran = sharder("run", features.folder, "--ungrouped", "by-recording")
    assert "split by recording" in ran.err
    seen: dict[str, str] = {}
    for name, some in records_of(committed(ran.out)).items():
        for one in some:
            assert one.path == one.group
            assert name == seen.setdefault(one.path, name)


def test_one_split_needs_no_groups(sharder: Callable, tmp_path: Path) -> None:
    """There is nothing to keep apart."""
    rows = [Window(f"{i}.wav", group=None) for i in range(10)]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder, "--split", "train=1").out)
    assert 0 == opened.manifest.stats.splits["train"].groups
    assert {""} == {one.group for one in records_of(opened)["train"]}


def test_one_record_is_a_run(sharder: Callable, tmp_path: Path) -> None:
    """One lane, one shard, and a word about it."""
    features = make_features(tmp_path, [[Window("a.wav")]])
    ran = sharder("run", features.folder, "--split", "train=1")
    stats = committed(ran.out).manifest.stats.splits["train"]
    assert (1, 1, 1) == (stats.records, stats.shards, stats.lanes)
    assert "1 lanes instead of 24" in ran.err


def test_members_of_a_container_are_recordings(sharder: Callable, tmp_path: Path) -> None:
    """Two members of one file are two recordings, and the record says which."""
    rows = [Window("a.zip", group=f"g{i}", member=f"{i}.wav") for i in range(50)]
    features = make_features(tmp_path, [rows])
    opened = committed(sharder("run", features.folder).out)
    paths = {one.path for some in records_of(opened).values() for one in some}
    assert {f"a.zip!{i}.wav" for i in range(50)} == paths
    assert 50 == sum(split.recordings for split in opened.manifest.stats.splits.values())


def test_copies_in_different_splits_are_told(sharder: Callable, tmp_path: Path) -> None:
    """The same recording under two names in two splits is a leak, and said aloud."""
    rows = [Window(f"{i}.wav", group=f"g{i}", content=f"{i % 40}") for i in range(80)]
    features = make_features(tmp_path, [rows])
    assert "recordings occur under several names" in sharder("run", features.folder).err


def test_a_dominant_group_is_told(sharder: Callable, tmp_path: Path) -> None:
    """Groups go whole, so the splits are far from the wish."""
    rows = [Window(f"{i}.wav", group="g1" if i < 80 else f"g{i}") for i in range(140)]
    features = make_features(tmp_path, [rows])
    assert "one group holds 80 of 140 records" in sharder("run", features.folder).err


def test_one_group_that_holds_everything_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """It goes whole, so the other splits are empty: each named, with what the first got."""
    features = make_features(tmp_path, [[Window(f"{i}.wav", group="one") for i in range(90)]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "no group falls into the split" in ran.err
    assert "90" in ran.err
    assert 0 == sharder("run", features.folder, "--split", "train=1").code


def test_fewer_records_than_shards(sharder: Callable, tmp_path: Path) -> None:
    """As many shards as leave none empty, fewer lanes where it must be, and a word about it."""
    features = make_features(tmp_path, [[Window(f"{i}.wav") for i in range(29)]])
    words = ("--split", "train=1", "--name")
    many = committed(sharder("run", features.folder, *words, "many", "--shards", "48").out)
    stats = many.manifest.stats.splits["train"]
    assert (24, 24) == (stats.shards, stats.lanes)
    ran = sharder("run", features.folder, *words, "lanes", "--lanes", "60", "--shards", "60")
    stats = committed(ran.out).manifest.stats.splits["train"]
    assert (20, 20) == (stats.shards, stats.lanes)
    assert "split train has only 29 records: 20 lanes instead of 60" in ran.err
    assert "has to divide 20" in ran.err


def test_shards_asked_for_are_those_of_the_largest_split(sharder: Callable, tmp_path: Path) -> None:
    """The others get about the same size of shard."""
    features = make_features(tmp_path, [windows(1000, groups=500)])
    opened = committed(sharder("run", features.folder, "--lanes", "4", "--shards", "40").out)
    shards = {name: split.shards for name, split in opened.manifest.stats.splits.items()}
    assert 40 == shards["train"]
    assert {4, 8} >= {shards["val"], shards["test"]}


def test_real_windows_are_as_large_as_planned(sharder: Callable, tmp_path: Path) -> None:
    """The plan's bytes are the bytes that are written."""
    features = make_features(tmp_path, [windows(60)], feature=feature_of(REAL))
    planned = sharder("plan", features.folder, "--json").data
    opened = committed(sharder("run", features.folder).out)
    written = {name: split.bytes for name, split in opened.manifest.stats.splits.items()}
    assert {name: split["bytes"] for name, split in planned["splits"].items()} == written


def test_the_root_may_be_elsewhere(sharder: Callable, tmp_path: Path) -> None:
    """The input is then named by its URI."""
    features = make_features(tmp_path / "in", [ROWS])
    opened = committed(sharder("run", features.folder, "--root", tmp_path / "out").out)
    assert str(tmp_path / "out" / "shards") == str(opened.folder.parent)
    assert features.folder.uri == opened.manifest.inputs[0].location
    assert 0 == sharder("verify", opened.folder).code


def test_a_whole_tree_can_be_copied(sharder: Callable, tmp_path: Path) -> None:
    """Locations under one root are relative: a copy verifies, and is the same run."""
    features = make_features(tmp_path / "here", [ROWS])
    opened = committed(sharder("run", features.folder).out)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    moved = tmp_path / "there" / "shards" / opened.manifest.name
    assert 0 == sharder("verify", moved).code
    again = sharder("run", tmp_path / "there" / "features" / features.manifest.name, "--json")
    assert again.data["already_committed"]


def test_two_at_once_make_one_run(sharder: Callable, tmp_path: Path) -> None:
    """Identical commands side by side: both answer the same, and the run verifies."""
    import subprocess
    import sys

    features = make_features(tmp_path, [ROWS])
    words = [
        sys.executable,
        "-c",
        "import sys; from audioloom_sharder.cli import main; sys.exit(main())",
    ]
    command = [*words, "run", str(features.folder), "--master", "inline"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(*one.communicate(), one.returncode) for one in both]
    assert [0, 0] == [code for _, _, code in ended], ended
    assert ended[0][0] == ended[1][0]
    assert 0 == sharder("verify", ended[0][0].strip()).code
