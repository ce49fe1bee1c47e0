from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.commands.scan import scan as scan_command
from audioloom_featurizer.errors import InvalidOption, NoRecordings
from audioloom_featurizer.inventory.sources.selection import select
from audioloom_featurizer.settings import ScanSettings
from audioloom_storage import Location, locate

FILES = ("a/1.wav", "a/b/2.wav", "a/b/3.flac", "c/4.wav", "c/d/e/5.wav", "f-1/6.wav", "f-2/7.wav")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A few files in folders."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def listed(folder: Path, *texts: str) -> tuple[str, list[str]]:
    """The folder that paths are relative to, and the files, both below the one given."""
    selection = select([f"{folder}/{text}" if text else str(folder) for text in texts])
    base = locate(folder)
    above = "" if selection.folder == base else selection.folder.relative_to(base)
    return above, sorted(each.location.relative_to(base) for each in selection.files())


@pytest.mark.parametrize(
    ("texts", "above", "names"),
    [
        ([""], "", FILES),
        (["a", "c"], "", ["a/1.wav", "a/b/2.wav", "a/b/3.flac", "c/4.wav", "c/d/e/5.wav"]),
        (["a", "a/b"], "a", ["a/1.wav", "a/b/2.wav", "a/b/3.flac"]),
        (["a/b", "a/1.wav"], "a", ["a/1.wav", "a/b/2.wav", "a/b/3.flac"]),
        (["c/4.wav"], "c", ["c/4.wav"]),
        (["f-*"], "", ["f-1/6.wav", "f-2/7.wav"]),
        (["f-[1]/"], "", ["f-1/6.wav"]),
        (["**/*.flac"], "", ["a/b/3.flac"]),
        (["c/**/5.*"], "c", ["c/d/e/5.wav"]),
        (["*/?.wav", "a/b"], "", ["a/1.wav", "a/b/2.wav", "a/b/3.flac", "c/4.wav", "f-1/6.wav",
                                  "f-2/7.wav"]),
    ],
)  # fmt: skip
def test_sources_are_listed_once(
    folder: Path, texts: list[str], above: str, names: list[str]
) -> None:
    """Folders, files and globs, whatever holds what."""
    assert (above, sorted(names)) == listed(folder, *texts)


@pytest.mark.parametrize("text", ["nothing", "a/nothing/*", "*.wav", "a/*.mp3"])
def test_a_source_of_nothing_is_named(folder: Path, text: str) -> None:
    """A misspelt one would leave out recordings without a word."""
    with pytest.raises(NoRecordings) as caught:
        listed(folder, "a", text)
    assert f"{folder}/{text}" in str(caught.value)


def test_a_name_that_exists_is_no_glob(folder: Path) -> None:
    """A folder may be called like one."""
    (folder / "[a]").mkdir()
    (folder / "[a]" / "8.wav").write_bytes(b"x")
    assert ("[a]", ["[a]/8.wav"]) == listed(folder, "[a]")


def test_files_are_not_compared_with_each_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell makes thousands of sources of one glob."""
    names = [f"many/{number:03d}.wav" for number in range(200)]
    (folder / "many").mkdir()
    for name in names:
        (folder / name).touch()
    compared = []

    def is_under(place: Location, other: Location) -> bool:
        compared.append(place)
        return before(place, other)

    before = Location.is_under
    monkeypatch.setattr(Location, "is_under", is_under)
    expected = ["a/b/2.wav", "a/b/3.flac", *names]
    assert ("", expected) == listed(folder, *names, "a/b", "a/b/2.wav")
    assert len(compared) < 1000


def test_several_storages_are_refused(folder: Path) -> None:
    """Nothing is listed, and the way is told."""
    with pytest.raises(InvalidOption, match="the sharder takes several"):
        select([str(folder), "hdfs://namenode/a"])


def test_tasks_list_folders_alone(folder: Path) -> None:
    """Relative to the folder above them all."""
    assert ["a", "c/d"] == select([f"{folder}/a", f"{folder}/c/d", f"{folder}/a/b"]).folders()
    assert [""] == select([str(folder)]).folders()
    (folder / "a-b").mkdir()  # it lies between both, for who compares names alone
    assert ["a", "a-b"] == select([f"{folder}/{name}" for name in ("a", "a-b", "a/b")]).folders()
    for text in (f"{folder}/a/*", f"{folder}/c/4.wav", f"zip://*.wav::{folder}/c"):
        with pytest.raises(InvalidOption, match="--master"):
            select([text]).folders()


@pytest.mark.parametrize("chain", ["zip://*.wav::{}/c/4.wav", "zip://*.wav::zip://a.zip::{}/c"])
def test_a_chain_leads_to_containers(folder: Path, chain: str) -> None:
    """Whatever else lies there has no members, and members are no containers."""
    with pytest.raises(InvalidOption, match="chain"):
        select([chain.format(folder)])


@pytest.mark.parametrize(
    ("members", "files", "paths"),
    [
        ("zip://*.wav", "a.zip", ["top.wav"]),
        ("zip://yes", "a.zip", ["yes/1.wav", "yes/b/2.wav"]),
        ("zip:///yes/1.wav", "a.zip", ["yes/1.wav"]),
        ("zip://", "a.zip", ["no/1.wav", "top.wav", "yes/1.wav", "yes/b/2.wav"]),
        ("zip://**/1.wav", "*.zip", ["a.zip/no/1.wav", "a.zip/yes/1.wav", "b.zip/yes/1.wav"]),
        ("tar://no/?.*", "", ["a.zip/no/1.wav", "c.tar/no/1.wav"]),
    ],
)  # fmt: skip
def test_a_chain_lists_members(
    tmp_path: Path, root: Path, members: str, files: str, paths: list[str]
) -> None:
    """Of one container, of those of a glob, and of all in a folder."""
    packed = {"a.zip": ("no/1.wav", "top.wav", "yes/1.wav", "yes/b/2.wav"), "b.zip": ("yes/1.wav",)}
    archives = tmp_path / "archives"
    archives.mkdir()
    for archive, names in packed.items():
        with zipfile.ZipFile(archives / archive, "w") as file:
            for name in names:
                file.writestr(name, b"x")
    with tarfile.open(archives / "c.tar", "w") as file:
        file.addfile(tarfile.TarInfo("no/1.wav"))
    given = f"{members}::{archives}/{files}".rstrip("/")
    location = scan_command(ScanSettings(source=[given], root=str(root))).data["location"]
    table = pq.read_table(next(Path(str(location)).parent.glob("**/*.parquet")))
    assert paths == table.column("path").to_pylist()


def test_a_chain_that_matches_nothing_is_told(tmp_path: Path, root: Path) -> None:
    """The scan fails like that of a folder without recordings."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("1.wav", b"x")
    with pytest.raises(NoRecordings):
        scan_command(ScanSettings(source=[f"zip://*.flac::{tmp_path}/a.zip"], root=str(root)))


def test_a_scan_of_several_folders(source: Path, root: Path) -> None:
    """One inventory, with labels from the paths below the folder above them."""
    given = [str(source / "yes"), str(source / "no" / "s1*")]
    settings = ScanSettings(source=given, root=str(root), pattern="(?P<label>[^/]+)/.*")
    data = scan_command(settings).data
    assert (5, 2) == (data["recordings"], data["labels"])
