from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.retry import retry
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.containers.member import BadContainer
from audioloom_featurizer.errors import NoRecordings, NothingReadable
from audioloom_featurizer.extraction import members as members_module
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.sandbox.messages import Heartbeat, Refusal
from audioloom_featurizer.settings import RetrySettings, VerifySettings
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_storage import Unavailable, locate
from featurizer_containers import MAKERS, make_tar, make_tgz, make_zip
from featurizer_work import checksums, features_of, in_process, run, scan

LIMIT = 1 << 20


def packed(source: Path, folder: Path, name: str) -> Path:
    """All recordings of the source in one container."""
    folder.mkdir()
    contents = {str(each.relative_to(source)): each.read_bytes() for each in source.rglob("*.wav")}
    MAKERS[name](folder / name, contents)
    return folder


def windows(opened: Opened, *more: str) -> list[tuple[Any, ...]]:
    """What the windows hold, whatever the recording is called."""
    names = ("label", "group", "window", "valid_samples", "recording_sha256", "mfcc", *more)
    found = []
    for entry in opened.files("features"):
        table = pq.read_table(Path(opened.folder.path, entry.path), columns=[*names, "member"])
        found += [tuple(row[name] for name in names) for row in table.to_pylist()]
    return sorted(found, key=lambda row: (row[4], row[2]))


@pytest.mark.parametrize("name", MAKERS)
def test_members_have_the_features_of_files(
    source: Path, root: Path, tmp_path: Path, name: str
) -> None:
    """With the same labels, byte for byte; and the run is whole for `verify`."""
    files = features_of(source, root, windows="all")
    folder = packed(source, tmp_path / "packed", name)
    scanned = scan(folder, tmp_path / "other", containers=True)
    opened = read_manifest(str(run(str(scanned.text), windows="all").text), "features")
    assert windows(files) == windows(opened)
    assert files.manifest.stats.labels == opened.manifest.stats.labels
    verify(VerifySettings(manifest=str(opened.location), against="librosa", sample=3))


@pytest.mark.parametrize("name", MAKERS)
def test_a_container_as_the_source_is_like_the_folder(
    source: Path, root: Path, tmp_path: Path, name: str
) -> None:
    """Paths, labels and windows are those of the folder, so shards and scores are, too."""
    scanned = scan(packed(source, tmp_path / "packed", name) / name, tmp_path / "other")
    opened = read_manifest(str(run(str(scanned.text), windows="all").text), "features")
    files = features_of(source, root, windows="all")
    assert windows(files, "path") == windows(opened, "path")
    verify(VerifySettings(manifest=str(opened.location), against="librosa", sample=3))
    verify(VerifySettings(manifest=str(scanned.text)))


@pytest.mark.parametrize("name", ["calls.tar", "calls.tar.gz"])
def test_a_damaged_source_is_in_the_ledger(
    source: Path, root: Path, tmp_path: Path, name: str
) -> None:
    """Under its own name; the members before the damage are in the features."""
    path = packed(source, tmp_path / "packed", name) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    opened = read_manifest(str(run(str(scan(path, root).text), error_budget="9").text), "features")
    assert opened.manifest.stats.extracted
    files = [Path(opened.folder.path, each.path) for each in opened.files("ledger")]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert {"damaged_container"} == {row["class"] for row in rows}
    assert (name, name) in {(row["path"], row["member"]) for row in rows}


def test_a_source_that_is_damaged_from_the_start_is_refused(
    source: Path, root: Path, tmp_path: Path
) -> None:
    """Nothing of it can be listed, and the pattern is not to blame."""
    path = packed(source, tmp_path / "packed", "calls.zip") / "calls.zip"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(NoRecordings, match=r"damaged .*calls\.zip"):
        scan(path, root)


def test_containers_are_told_of(source: Path, root: Path) -> None:
    """Without the option they are other files, and the report says what would list them."""
    make_tar(source / "calls.tar", {"a.wav": b""})
    result = scan(source, root)
    assert 1 == result.data["skipped"]["containers"]
    assert 7 == result.data["recordings"]


def test_a_folder_of_containers_alone_is_told_of(tmp_path: Path, root: Path) -> None:
    """Nothing is listed, and the option that would is named."""
    (tmp_path / "packed").mkdir()
    make_tar(tmp_path / "packed" / "calls.tar", {"a.wav": b""})
    with pytest.raises(NoRecordings, match="--containers"):
        scan(tmp_path / "packed", root)


def test_a_damaged_container_is_in_the_ledger(source: Path, root: Path) -> None:
    """With the members before the damage in the features: nothing is lost without a word."""
    contents = {f"yes/{n}-x.wav": (source / "yes/s0-take.wav").read_bytes() for n in range(5)}
    path = make_tar(source / "calls.tar", contents)
    path.write_bytes(path.read_bytes()[:9000])
    scanned = scan(source, root, containers=True)
    opened = read_manifest(str(run(str(scanned.text), error_budget="2").text), "features")
    stats = opened.manifest.stats
    assert (7 + 2, {"damaged_container": 2}) == (stats.extracted, stats.refusals)
    files = [Path(opened.folder.path, each.path) for each in opened.files("ledger")]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    cut = "yes/2-x.wav"
    expected = [("calls.tar", None), (f"calls.tar/{cut}", cut)]
    assert expected == sorted((row["path"], row["member"]) for row in rows)
    verify(VerifySettings(manifest=str(opened.location)))


def test_a_container_that_changed_is_refused(source: Path, root: Path, tmp_path: Path) -> None:
    """Its members are no longer those that were listed."""
    folder = packed(source, tmp_path / "packed", "calls.zip")
    scanned = str(scan(folder, root, containers=True).text)
    make_zip(folder / "calls.zip", {"yes/s0-take.wav": b"x"})
    with pytest.raises(NothingReadable, match="7 × changed"):
        run(scanned, error_budget="100%")


def rows_of(path: Path, contents: dict[str, bytes]) -> list[dict[str, Any]]:
    """Rows of an inventory of a container that is read in sequence, or a zip."""
    return [
        {
            "path": f"{path.name}/{name}",
            "member": name,
            "offset": None,
            "length": None,
            "size": len(data),
            "modified_ns": None,
        }
        for name, data in contents.items()
    ]


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files that are opened."""
    opened: list[str] = []
    before = members_module.open_read

    def count(location: Any) -> Any:
        opened.append(location.name)
        return before(location)

    monkeypatch.setattr(members_module, "open_read", count)
    return opened


@pytest.mark.parametrize(("make", "name"), [(make_tgz, "a.tgz"), (make_zip, "a.zip")])
def test_a_container_is_opened_once(
    tmp_path: Path, opening: list[str], make: Any, name: str
) -> None:
    """Whatever the order of its members."""
    contents = {f"{number}.wav": bytes([number]) * LIMIT for number in range(5)}
    path = make(tmp_path / name, contents)
    rows = rows_of(path, contents)
    with closing(Members(locate(tmp_path), rows, Heartbeat())) as members:
        for row in reversed(rows):
            with members.open(row) as file:
                assert contents[row["member"]] == file.read()
                assert LIMIT == file.tell()
                assert LIMIT - 3 == file.seek(-3, 2)
                assert 3 == len(file.read(10))
    assert [name] == opening


def test_no_more_is_unpacked_than_is_wanted(tmp_path: Path) -> None:
    """A few members of a large container cost what lies before them."""
    contents = {f"{number}.wav": os.urandom(LIMIT) for number in range(5)}
    path = make_tgz(tmp_path / "a.tgz", contents)
    rows = rows_of(path, {name: contents[name] for name in ("0.wav", "1.wav")})
    heartbeat = Heartbeat()
    with closing(Members(locate(tmp_path), rows, heartbeat)) as members, members.open(rows[0]):
        pass
    assert (heartbeat.read().offset or 0) < 4 * LIMIT


def test_many_containers_are_looked_up_by_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their members are not searched for in all rows each time."""
    paths = [make_tgz(tmp_path / f"{n:03d}.tgz", {"a.wav": b"x"}) for n in range(100)]
    rows = [row for path in paths for row in rows_of(path, {"a.wav": b"x"})]
    asked: list[str] = []
    before = members_module.file_of

    def count(source: Any, path: str, member: str | None) -> Any:
        asked.append(path)
        return before(source, path, member)

    monkeypatch.setattr(members_module, "file_of", count)
    with closing(Members(locate(tmp_path), rows, Heartbeat())) as members:
        for row in rows:
            with members.open(row) as file:
                assert b"x" == file.read()
    assert len(asked) < 500


@pytest.mark.parametrize(
    ("name", "stage", "expected"),
    [
        ("a.tgz", "open", [2, 3, 4]),
        ("a.parquet", "open", [2, 3, 4]),
        ("a.tgz", "samples", [2]),
        ("a.zip", "open", [2]),
    ],
)
def test_one_death_at_unpacking_refuses_the_whole_container(
    tmp_path: Path, name: str, stage: Any, expected: list[int]
) -> None:
    """Any member may be to blame; otherwise a container of thousands kills thousands of processes.

    What comes from a member itself costs that member alone.
    """
    inside = {f"{number}.wav": b"x" for number in range(3)}
    rows = rows_of(tmp_path / "A.tgz", {"a": b"", "b": b""}) + rows_of(tmp_path / name, inside)
    rows += rows_of(tmp_path / "b.tgz", {"a": b""})
    refusal = Refusal("decoder_memory", stage, None, "too large", retryable=True)
    members = Members(locate(tmp_path), rows, Heartbeat())
    assert dict.fromkeys(expected, refusal) == members.refused_unread({2: refusal})


def test_a_container_that_was_mended_is_no_recording(tmp_path: Path) -> None:
    """Its bytes would be decoded as noise with --raw-format."""
    path = make_tar(tmp_path / "a.tar", {"a.wav": b"x" * 5000})
    row = rows_of(path, {"a.wav": b""})[0]
    row |= {"path": "a.tar", "member": None, "size": path.stat().st_size}
    with (
        closing(Members(locate(tmp_path), [row])) as members,
        pytest.raises(BadContainer, match="scan again"),
        members.open(row),
    ):
        pass


def test_members_before_the_damage_are_read(tmp_path: Path) -> None:
    """Those after it are refused, each for the reason."""
    contents = {f"{number}.wav": bytes([number]) * 3000 for number in range(5)}
    path = MAKERS["calls.tar.gz"](tmp_path / "a.tar.gz", contents)
    path.write_bytes(path.read_bytes()[:-30])
    rows = rows_of(path, contents)
    with closing(Members(locate(tmp_path), rows, Heartbeat())) as members:
        with members.open(rows[0]) as file:
            assert contents["0.wav"] == file.read()
        with pytest.raises(BadContainer, match="damaged tar"), members.open(rows[4]):
            pass


def test_the_search_for_damage_beats(tmp_path: Path) -> None:
    """A large container takes longer than a decoder may be silent, and is not to blame for it."""
    contents = {f"{number}.wav": bytes(3000) for number in range(50)}
    path = make_tar(tmp_path / "a.tar", contents)
    path.write_bytes(path.read_bytes()[:-20_000])
    row = rows_of(path, {"a.wav": b""})[0] | {"path": "a.tar", "member": None}
    row["size"] = path.stat().st_size
    heartbeat = Heartbeat()
    with (
        closing(Members(locate(tmp_path), [row], heartbeat)) as members,
        pytest.raises(BadContainer),
        members.open(row),
    ):
        pass
    assert heartbeat.read().beats > 50


def test_a_storage_that_fails_is_asked_again(tmp_path: Path, opening: list[str]) -> None:
    """With a new connection, from the beginning."""
    contents = {"a.wav": b"a" * 100, "b.wav": b"b" * 100}
    path = make_zip(tmp_path / "a.zip", contents)
    rows = rows_of(path, contents)
    with closing(Members(locate(tmp_path), rows, Heartbeat())) as members:
        with pytest.raises(Unavailable), members.open(rows[0]):
            raise Unavailable("the storage failed")
        with members.open(rows[0]) as file:
            assert b"a" * 100 == file.read()
    assert ["a.zip"] * 2 == opening


def test_a_member_that_was_refused_is_tried_again(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`retry` takes it from the same inventory."""
    folder = packed(source, tmp_path / "packed", "calls.tar")
    before = members_module.open_read

    def fails(location: Any) -> Any:
        raise Unavailable("the storage failed", where=location)

    scanned = str(scan(folder, root, containers=True).text)
    make_tar(folder / "more.tar", {"yes/s9-a.wav": (source / "yes/s0-take.wav").read_bytes()})
    scanned = str(scan(folder, root, containers=True).text)
    monkeypatch.setattr("audioloom_featurizer.extraction.recording.WAIT_SECONDS", 0)
    monkeypatch.setattr(
        members_module, "open_read", lambda at: (fails if at.name == "more.tar" else before)(at)
    )
    refused = read_manifest(str(run(scanned, error_budget="1").text), "features")
    assert {"unavailable": 1} == refused.manifest.stats.refusals
    monkeypatch.setattr(members_module, "open_read", before)
    again = retry(RetrySettings(features=str(refused.location)), in_process)
    opened = read_manifest(str(again.text), "features")
    assert 1 == opened.manifest.stats.extracted
    assert checksums(opened)
