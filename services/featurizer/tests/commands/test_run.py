from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.plan import plan
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import (
    BadInventory,
    BadLabels,
    NoRecordings,
    NothingReadable,
    TooManyRefused,
)
from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.settings import PlanSettings, VerifySettings
from audioloom_manifest.errors import NameTaken
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.receipts import Receipt
from audioloom_stage.exit_codes import exit_code
from featurizer_work import (
    checksums,
    features_of,
    header_only,
    in_process,
    run,
    scan,
    with_nan,
    write_wav,
)
from structlog.testing import capture_logs


def test_a_source_that_is_not_there(tmp_path: Path, root: Path) -> None:
    """Nothing is made for it."""
    with pytest.raises(NoRecordings, match="nowhere"):
        scan(tmp_path / "nowhere", root)
    assert not root.exists()


def test_a_folder_without_recordings(tmp_path: Path, root: Path) -> None:
    """The error says what was looked for and what was there instead."""
    (tmp_path / "x").mkdir()
    with pytest.raises(NoRecordings, match="no file at all"):
        scan(tmp_path / "x", root)
    (tmp_path / "x" / "notes.txt").touch()
    with pytest.raises(NoRecordings, match=r"1 other .*notes\.txt"):
        scan(tmp_path / "x", root)
    assert not root.exists()


def test_a_pattern_that_matches_nothing(source: Path, root: Path) -> None:
    """An example path shows why."""
    with pytest.raises(BadLabels, match=r"no/s1-take\.wav"):
        scan(source, root, pattern="(?P<label>[0-9]+)")


def test_a_name_that_is_taken(source: Path, root: Path) -> None:
    """Another listing under the same name is refused, and so is another recipe."""
    recordings = str(scan(source, root, name="mine").text)
    run(recordings, name="mine")
    with pytest.raises(NameTaken, match="window"):
        run(recordings, name="mine", window_seconds=2.0)
    write_wav(source / "no" / "s9-new.wav")
    with pytest.raises(NameTaken, match="listing"):
        scan(source, root, name="mine")


def test_nothing_readable_commits_nothing(tmp_path: Path, root: Path) -> None:
    """Not with a budget of everything either."""
    header_only(tmp_path / "x" / "a" / "s-1.wav")
    recordings = str(scan(tmp_path / "x", root).text)
    with pytest.raises(NothingReadable, match=r"1 × empty, such as a/s-1\.wav"):
        run(recordings, error_budget="100%")
    assert not list(root.glob("features/*/manifest.json"))


def test_over_budget_commits_nothing_and_keeps_what_is_done(source: Path, root: Path) -> None:
    """With a larger budget the same run is committed without doing a unit again."""
    bad = ["no/s8-bad.wav", "no/s9-bad.wav", "no/s7-bad.wav"]
    for each in bad:
        header_only(source / each)
    recordings = str(scan(source, root).text)
    with pytest.raises(TooManyRefused, match=r"at most 2 of 10 .*1%") as caught:
        run(recordings)
    assert 65 == exit_code(caught.value)
    assert all(f"\n  {each}: empty, " in caught.value.found for each in bad)
    assert not list(root.glob("features/*/manifest.json"))
    done = {path.stem for path in root.glob("features/*/receipts/*.json")}
    again: list[str] = []
    features = run(recordings, _noting(again), error_budget="3").text
    assert done
    assert done.isdisjoint(again)
    assert {"empty": 3} == read_manifest(str(features), "features").manifest.stats.refusals


def test_an_inventory_that_was_exchanged(source: Path, root: Path) -> None:
    """Units are cut from the inventory as it was committed, or not done at all."""
    recordings = str(scan(source, root).text)

    def exchange(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
        where = next(root.glob("recordings/*/inventory-*.parquet"))
        table = pq.read_table(where)
        where.unlink()
        pq.write_table(table.slice(1), where)
        return in_process(units, task)

    with pytest.raises(BadInventory, match="inventory"):
        run(recordings, exchange)


def test_every_recording_ends_in_one_place(source: Path, root: Path) -> None:
    """Features and ledger together are the inventory."""
    bad = {"no/s8-bad.wav", "no/s9-nan.wav"}
    header_only(source / "no" / "s8-bad.wav")
    with_nan(source / "no" / "s9-nan.wav")
    opened = features_of(source, root, error_budget="2", windows="all")
    stats = opened.manifest.stats
    assert (9, 7, 2) == (stats.recordings, stats.extracted, stats.refused)
    assert {"empty": 1, "non_finite": 1} == stats.refusals
    paths = [Path(opened.folder.path, entry.path) for entry in opened.files("ledger")]
    tables = [pq.read_table(path) for path in paths]
    assert bad == {path for table in tables for path in table.column("path").to_pylist()}
    verify(VerifySettings(manifest=str(opened.location)))


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({"window_seconds": 1}, False),
        ({"window_seconds": 3}, True),
        ({"window_seconds": 3, "channels": "split"}, False),
        ({"window_seconds": 3, "windows": "all", "hop_seconds": 1}, False),
    ],
)
def test_much_padding_is_told(
    source: Path, root: Path, settings: dict[str, object], *, warned: bool
) -> None:
    """A run of windows much longer than the recordings, which are of one second, costs room."""
    with capture_logs() as told:
        features_of(source, root, **settings)
    assert warned == any("padding" in each["event"] for each in told)


def test_what_changed_since_the_scan_counts_against_the_budget(source: Path, root: Path) -> None:
    """Other samples of the same length: refused as `changed`, and another try does not help."""
    recordings = str(scan(source, root).text)
    path = source / "no" / "s1-take.wav"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(TooManyRefused, match=r"(?s)changed=0.*1 × changed, such as no/s1-"):
        run(recordings, error_budget="100%,changed=0")
    opened = read_manifest(str(run(recordings, error_budget="1").text), "features")
    assert {"changed": 1} == opened.manifest.stats.refusals
    (row,) = ledger_of(opened)
    assert ("no/s1-take.wav", "changed", False) == (row["path"], row["class"], row["retryable"])
    assert "scan again" in row["message"]
    again = read_manifest(str(run(str(scan(source, root).text)).text), "features")
    assert 0 == again.manifest.stats.refused


def test_a_name_that_is_no_text_is_accounted_for(source: Path, root: Path) -> None:
    """Through scan, run, ledger and budget, beside good ones, and in a folder of such a name."""
    good = (source / "no" / "s1-take.wav").read_bytes()
    os.mkdir(bytes(source) + b"/\xfe")  # noqa: PTH102
    for name in (b"no/s\xe9-take.wav", b"\xfe/s1-take.wav"):
        with open(bytes(source) + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(good)
    scanned = scan(source, root)
    assert 9 == scanned.data["recordings"]
    with pytest.raises(TooManyRefused, match=r"2 × bad_name, such as (\\xfe/s1|no/s\\xe9)-take"):
        run(str(scanned.text), error_budget="9,bad_name=1")
    opened = read_manifest(str(run(str(scanned.text), error_budget="2").text), "features")
    stats = opened.manifest.stats
    assert (9, 7, {"bad_name": 2}) == (stats.recordings, stats.extracted, stats.refusals)
    assert {r"no/s\xe9-take.wav", r"\xfe/s1-take.wav"} == {row["path"] for row in ledger_of(opened)}
    for manifest in (str(scanned.text), str(opened.location)):
        verify(VerifySettings(manifest=manifest))


def ledger_of(opened: Opened) -> list[dict]:
    """The rows of the ledger."""
    paths = [Path(opened.folder.path, entry.path) for entry in opened.files("ledger")]
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_labels_reach_the_windows(source: Path, root: Path) -> None:
    """Label and group stand in every row."""
    opened = features_of(source, root)
    paths = [Path(opened.folder.path, entry.path) for entry in opened.files("features")]
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    assert {"yes": 4, "no": 3} == opened.manifest.stats.labels
    for row in rows:
        label, name = row["path"].split("/")
        assert (label, name.split("-")[0]) == (row["label"], row["group"])


def test_deleted_and_made_again_it_is_the_same(source: Path, root: Path) -> None:
    """Name, identity and every checksum: whoever comes after has nothing to do."""
    first = features_of(source, root)
    shutil.rmtree(root)
    again = features_of(source, root)
    assert first.manifest.name == again.manifest.name
    assert first.manifest.identity == again.manifest.identity
    assert checksums(first) == checksums(again)


def test_the_order_of_units_does_not_matter(source: Path, root: Path) -> None:
    """As Spark finishes them in any order."""
    first = features_of(source, root)
    shutil.rmtree(root)
    recordings = str(scan(source, root).text)

    def backwards(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
        return in_process(units[::-1], task)

    again = read_manifest(str(run(recordings, backwards).text), "features")
    assert first.manifest.identity == again.manifest.identity
    assert first.manifest.stats == again.manifest.stats


def test_a_tree_that_was_moved_answers_the_same(source: Path, root: Path) -> None:
    """Inputs under the same root are relative, so a copied tree verifies and is committed."""
    opened = features_of(source, root)
    moved = root.with_name("moved")
    root.rename(moved)
    recordings = next(moved.glob("recordings/*"))
    result = run(str(recordings))
    assert result.data["already_committed"]
    assert opened.manifest.identity == result.data["identity"]
    verify(VerifySettings(manifest=str(result.text)))


def test_only_units_without_receipt_are_done(source: Path, root: Path) -> None:
    """A run that stopped in the middle goes on."""
    recordings = str(scan(source, root).text)

    def stops(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
        yield task(units[1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(recordings, stops)
    state = plan(PlanSettings(recordings=recordings, unit_recordings=3, window_seconds=1.0)).data
    assert ("started", 1, 2) == (state["state"], state["units_finished"], state["units_to_do"])
    done: list[str] = []
    run(recordings, _noting(done))
    assert 2 == len(done)


def test_plan_writes_nothing(source: Path, root: Path) -> None:
    """And tells the name that the run will have."""
    recordings = str(scan(source, root).text)
    before = sorted(root.rglob("*"))
    asked = PlanSettings(recordings=recordings, unit_recordings=3, window_seconds=1.0)
    data = plan(asked).data
    assert ("new", 3, 7) == (data["state"], data["units"], data["recordings"])
    assert before == sorted(root.rglob("*"))
    assert data["name"] == run(recordings).data["name"]
    assert "committed" == plan(asked).data["state"]


def test_a_scan_again_is_committed_already(source: Path, root: Path) -> None:
    """Until a recording is added, changed or removed."""
    first = scan(source, root).data
    assert not first["already_committed"]
    assert scan(source, root).data["already_committed"]
    os.utime(source / "no" / "s1-take.wav", ns=(1, 1))
    assert first["name"] != scan(source, root).data["name"]


def test_what_is_committed_needs_neither_spark_nor_librosa(source: Path, root: Path) -> None:
    """The answer comes without importing them."""
    recordings = str(scan(source, root).text)
    run(recordings)
    program = f"""
import sys
from audioloom_featurizer.cli import main
assert main(["run", {recordings!r}, "--unit-recordings=3", "--window-seconds=1"]) == 0
assert main(["why", {recordings!r}, "--unit-recordings=9", "--window-seconds=2"]) == 0
loaded = {{"pyspark", "librosa", "numba"}} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def _noting(names: list[str]) -> Callable[..., Iterator[Receipt]]:
    def runner(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
        names.extend(unit.id for unit in units)
        return in_process(units, task)

    return runner


def test_two_identical_commands_at_once(source: Path, root: Path) -> None:
    """One commits while the other is at work; the other finds it committed, and both succeed."""
    recordings = str(scan(source, root).text)
    results = []

    def overtaken(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
        receipts = list(in_process(units, task))
        results.append(run(recordings))
        return iter(receipts)

    late = run(recordings, lambda units, task: (each for each in overtaken(units, task)))
    assert [False, True] == [each.data["already_committed"] for each in (*results, late)]
    assert results[0].text == late.text
    verify(VerifySettings(manifest=str(late.text)))


@pytest.mark.slow  # librosa's tests in packages/audio hold the same for each window
def test_the_engines_agree(source: Path, root: Path) -> None:
    """NumPy's, the compiled one and librosa itself: the same features, under different names."""
    recordings = str(scan(source, root).text)
    numpy, native, librosa = (
        read_manifest(str(run(recordings, engine=engine).text), "features")
        for engine in ("numpy", "native", "librosa")
    )
    assert 3 == len({opened.manifest.name for opened in (numpy, native, librosa)})
    for ours in (numpy, native):
        for mine, theirs in zip(_values(ours), _values(librosa), strict=True):
            assert np.abs(mine - theirs).max() <= 1e-5


def test_the_manifest_says_which_engine_it_was(source: Path, root: Path) -> None:
    """Auto would mean another thing on another machine."""
    recordings = str(scan(source, root).text)

    made = read_manifest(str(run(recordings).text), "features").manifest

    assert "native" == made.recipe.engine
    assert made.name == run(recordings, engine="native").data["name"]


def _values(opened: Opened) -> list[np.ndarray]:
    paths = [Path(opened.folder.path, entry.path) for entry in opened.files("features")]
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return [np.frombuffer(row["mfcc"], "<f4") for row in sorted(rows, key=lambda row: row["path"])]


def test_the_next_commands_are_for_a_shell(source: Path, tmp_path: Path) -> None:
    """Also where a root has a space in its name."""
    result = scan(source, tmp_path / "my loom")
    assert len(result.next) == 2
    folder = str(Path(str(result.text)).parent)
    assert [folder] * 2 == [shlex.split(command)[-1] for command in result.next]
