from __future__ import annotations

import io
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.containers import member
from audioloom_featurizer.containers.formats import (
    container_suffix,
    open_container,
    read_in_sequence,
)
from audioloom_featurizer.containers.member import BadContainer, Member, NoRecordings, safe_name
from featurizer_containers import MAKERS, make_avro, make_parquet, make_tar, make_tgz, make_zip
from hypothesis import example, given, settings
from hypothesis import strategies as st

CONTENTS = {"en/a.wav": b"a" * 1000, "fr/b.wav": os.urandom(70_000), "c.wav": b"", "é ü.wav": b"x"}


def listed(path: Path) -> list[Member]:
    with path.open("rb") as file:
        return [*open_container(path.name, file, path.stat().st_size).members()]


def unpacked(path: Path, wanted: dict[str, int]) -> dict[str, bytes]:
    with path.open("rb") as file:
        container = open_container(path.name, file, path.stat().st_size)
        return {name: b"".join(content) for name, content in container.unpack(wanted)}


@pytest.mark.parametrize("name", MAKERS)
def test_members_are_listed_and_unpacked(tmp_path: Path, name: str) -> None:
    """By the libraries' own containers: names, sizes, bytes; all of them or a few."""
    path = MAKERS[name](tmp_path / name, CONTENTS)
    sizes = {each: len(data) for each, data in CONTENTS.items()}
    assert sizes == {each.name: each.size for each in listed(path)}
    assert CONTENTS == unpacked(path, sizes)
    assert {"c.wav": b""} == unpacked(path, {"c.wav": 0, "none": 5})


def test_a_member_of_a_tar_lies_in_one_piece(tmp_path: Path) -> None:
    """So a range of the file is the recording."""
    path = make_tar(tmp_path / "calls.tar", CONTENTS)
    data = path.read_bytes()
    for each in listed(path):
        assert each.offset is not None
        assert CONTENTS[each.name] == data[each.offset : each.offset + each.size]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("left", [0, 1, 30, 512, -700, -1])
def test_a_container_that_is_cut_is_damaged(tmp_path: Path, name: str, left: int) -> None:
    """Wherever it ends: never an end that looks complete."""
    path = MAKERS[name](tmp_path / name, CONTENTS)
    if left < 0 and name.endswith(".tar"):
        left = 40_000  # without the kilobytes of zeros at the end
    path.write_bytes(path.read_bytes()[:left])
    sizes = {each: len(data) for each, data in CONTENTS.items()}
    with pytest.raises(BadContainer):
        assert [listed(path), unpacked(path, sizes)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("./en/a.wav", "en/a.wav"),
        ("en//a.wav", "en/a.wav"),
        ("a.wav", "a.wav"),
        ("../a.wav", None),
        ("en/../../a.wav", None),
        ("/etc/a.wav", None),
        ("a\\..\\b.wav", None),
        ("a\0.wav", None),
        ("", None),
        ("./", None),
        ("a" * 5000, None),
    ],
)
def test_names_do_not_climb(text: str, name: str | None) -> None:
    """No member is written to disk, but its name becomes a part of a path."""
    assert name == safe_name(text)


def test_members_that_lead_outside_are_left_out(tmp_path: Path) -> None:
    """Neither listed nor unpacked."""
    names = ["../a.wav", "/b.wav", "c/../../d.wav", "e.wav"]
    for path in (
        make_tar(tmp_path / "a.tar", dict.fromkeys(names, b"x")),
        make_zip(tmp_path / "a.zip", dict.fromkeys(names, b"x")),
        make_parquet(tmp_path / "a.parquet", dict.fromkeys(names, b"x")),
    ):
        assert ["e.wav"] == [each.name for each in listed(path)]


def test_links_and_devices_are_no_recordings(tmp_path: Path) -> None:
    """Nothing follows them."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            entry = tarfile.TarInfo(f"{kind!r}.wav")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    assert [] == listed(path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        link = zipfile.ZipInfo("a.wav")
        link.external_attr = 0o120777 << 16
        zipped.writestr(link, "/etc/passwd")
    assert [] == listed(tmp_path / "a.zip")


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of much content, before the disk is full."""
    monkeypatch.setattr(member, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(member, "MOST_EXPANSION", 10)
    zeros = {f"{number}.wav": bytes(1 << 20) for number in range(4)}
    for make, name in ((make_tgz, "a.tgz"), (make_zip, "a.zip"), (make_avro, "a.avro")):
        with pytest.raises(BadContainer, match=r"times its size|of 4194304 bytes|much larger"):
            listed(make(tmp_path / name, zeros))


def test_a_header_that_claims_much_is_not_believed(tmp_path: Path) -> None:
    """A long name of eight gigabytes."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, 8 << 30
    path = tmp_path / "a.tar"
    path.write_bytes(entry.tobuf(tarfile.GNU_FORMAT) + bytes(10_000))
    with pytest.raises(BadContainer, match="claims"):
        listed(path)


def test_a_size_that_lies_is_damage(tmp_path: Path) -> None:
    """The zip's table says less than there is."""
    path = make_zip(tmp_path / "a.zip", {"a.wav": b"x" * 5000}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24  # the size in the table of contents
    data[at : at + 4] = (100).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(BadContainer):
        unpacked(path, {"a.wav": 100})


def test_an_encrypted_member_is_left_out(tmp_path: Path) -> None:
    """Nobody has its password here."""
    path = make_zip(tmp_path / "a.zip", {"a.wav": b"x", "b.wav": b"y"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert ["b.wav"] == [each.name for each in listed(path)]


def test_a_table_without_recordings_is_no_container(tmp_path: Path) -> None:
    """Such as the table of labels that lies beside."""
    pq.write_table(pa.table({"path": ["a"], "label": ["x"]}), tmp_path / "labels.parquet")
    pq.write_table(pa.table({"a": [b"1"], "b": [b"2"]}), tmp_path / "two.parquet")
    for name in ("labels.parquet", "two.parquet"):
        with pytest.raises(NoRecordings, match="columns of bytes"):
            listed(tmp_path / name)


def test_rows_without_names_are_numbered(tmp_path: Path) -> None:
    """And rows without content are none."""
    pq.write_table(pa.table({"audio": [b"a", None, b"c"]}), tmp_path / "a.parquet")
    assert ["000000000", "000000002"] == [each.name for each in listed(tmp_path / "a.parquet")]


@pytest.mark.parametrize(
    ("path", "suffix", "sequence"),
    [
        ("a/CALLS.TAR", ".tar", False),
        ("a.tar.gz", ".tar.gz", True),
        ("a.zip", ".zip", False),
        ("a.parquet", ".parquet", True),
        ("a.wav", None, None),
        ("tar", None, None),
    ],
)
def test_suffixes_tell(path: str, suffix: str | None, sequence: bool | None) -> None:
    """Whatever the case; a zip is read in any order."""
    assert suffix == container_suffix(path)
    if suffix is not None:
        assert sequence == read_in_sequence(path, 0 if suffix == ".tar" else None)


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a container of each format."""
    folder = tmp_path_factory.mktemp("containers")
    return {name: make(folder / name, CONTENTS).read_bytes() for name, make in MAKERS.items()}


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    place=st.floats(0, 1, exclude_max=True),
    change=st.binary(min_size=1, max_size=8),
    cut=st.booleans(),
)
@example(name="calls.tar", place=0.0, change=b"\xff" * 8, cut=True)
def test_a_mutated_container_lists_or_is_damaged(
    containers: dict[str, bytes], name: str, place: float, change: bytes, cut: bool
) -> None:
    """Nothing else is raised."""
    mutated(containers[name], name, place, change, cut=cut)


@pytest.mark.slow
def test_ten_thousand_mutated_containers(containers: dict[str, bytes]) -> None:
    """The same at length; most of the damage is noticed."""
    source = random.Random(0)  # noqa: S311 - to repeat it
    damaged = 0
    for number in range(10_000):
        name = sorted(MAKERS)[number % len(MAKERS)]
        change = source.randbytes(source.randint(1, 8))
        damaged += mutated(
            containers[name], name, source.random(), change, cut=source.random() < 0.5
        )
    print(f"{damaged} of 10,000 mutated containers are damaged")  # noqa: T201 - worth keeping
    assert damaged > 5000


def mutated(whole: bytes, name: str, place: float, change: bytes, *, cut: bool) -> bool:
    """List and unpack a container with other bytes in it; whether that is damage."""
    data = bytearray(whole)
    at = int(place * len(data))
    data[at : at + len(change)] = change
    if cut:
        del data[at:]
    file = io.BytesIO(data)
    try:
        container = open_container(name, file, len(data))
        sizes = {each.name: each.size for each in container.members()}
        for _, content in open_container(name, file, len(data)).unpack(sizes):
            for _ in content:
                pass
    except BadContainer:
        return True
    return False
