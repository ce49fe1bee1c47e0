from __future__ import annotations

import io
import random
import tarfile
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.containers import member, sequence_file
from audioloom_featurizer.containers.formats import (
    container_suffix,
    open_container,
    read_in_sequence,
)
from audioloom_featurizer.containers.member import BadContainer, NoRecordings, safe_name
from audioloom_storage import Unavailable
from featurizer_containers import (
    CONTENTS,
    MAKERS,
    listed,
    make_avro,
    make_parquet,
    make_tar,
    make_tgz,
    make_zip,
    unpacked,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("name", MAKERS)
def test_members_are_listed_and_unpacked(tmp_path: Path, name: str) -> None:
    """By the libraries' own containers: names, sizes, bytes; all of them or a few."""
    path = MAKERS[name](tmp_path / name, CONTENTS)
    sizes = {each: len(data) for each, data in CONTENTS.items()}
    assert sizes == {each.name: each.size for each in listed(path)}
    assert CONTENTS == unpacked(path, sizes)
    assert {"c.wav": b""} == unpacked(path, {"c.wav": 0, "none": 5})


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


class Outage(io.BytesIO):
    """A file whose storage fails after a few reads."""

    def __init__(self, data: bytes, reads: int) -> None:
        super().__init__(data)
        self._reads = reads

    def read(self, size: int | None = -1, /) -> bytes:
        """Fail as a storage does."""
        self._reads -= 1
        if self._reads < 0:
            raise Unavailable(where="hdfs://a/b", found="connection lost")
        return super().read(size)


@pytest.mark.parametrize("name", MAKERS)
def test_an_outage_is_no_damage(tmp_path: Path, name: str) -> None:
    """Whichever read fails: the container may be whole, so a retry may read it."""
    data = MAKERS[name](tmp_path / name, CONTENTS).read_bytes()
    outages = 0
    for reads in range(100):
        try:
            container = open_container(name, Outage(data, reads), len(data))
            for _, content in container.unpack(CONTENTS):
                for _ in content:
                    pass
        except Unavailable:
            outages += 1
    assert 0 < outages < 100


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
        ("caf\udce9/\u2603.wav", "caf\\xe9/\u2603.wav"),  # bytes that are not UTF-8, in a tar
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


def test_members_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """Links, encrypted members, names that lead outside and rows without content; no folder."""
    names = ["../a.wav", "b\\c.wav", "d/", "e.wav"]
    zipped = make_zip(tmp_path / "a.zip", dict.fromkeys(names, b""))
    rows = tmp_path / "a.parquet"
    pq.write_table(pa.table({"path": [".."] + ["a"] * 2, "audio": [b"x", None, b"y"]}), rows)
    tar = tmp_path / "a.tar"
    with tarfile.open(tar, "w") as archive:
        for name, kind in (("a", tarfile.SYMTYPE), ("b", tarfile.DIRTYPE), ("/c", tarfile.REGTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type = kind
            archive.addfile(entry)
    for path, expected in ((zipped, 2), (rows, 2), (tar, 2)):
        with path.open("rb") as file:
            container = open_container(path.name, file, path.stat().st_size)
            assert sum(1 for _ in container.members()) in (0, 1)
            assert expected == container.left_out


@pytest.mark.parametrize("name", ["calls.parquet", "calls.avro"])
def test_rows_that_are_no_members_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A small file may have thousands of millions of them."""
    monkeypatch.setattr(member, "MOST_MEMBERS", 5)
    MAKERS[name](tmp_path / name, {f"../{number}": b"" for number in range(6)})
    with pytest.raises(BadContainer, match="more than 5 members"):
        listed(tmp_path / name)


def test_a_value_beyond_the_bound_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is whole, and its reader is told what is not read."""
    path = make_parquet(tmp_path / "a.parquet", {"a.wav": bytes(3 << 20)})
    monkeypatch.setattr(member, "MOST_READ_BYTES", 2 << 20)
    with pytest.raises(BadContainer, match="a value of 3145728 bytes, more than the 2 MiB"):
        listed(path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_packed_value_of_a_sequence_file_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """Whether its own bytes are too many, or those that it unpacks to; that is told."""
    kind = b"org.apache.hadoop.io.Text"
    codec = b"org.apache.hadoop.io.compress.DefaultCodec"
    head = b"SEQ\x06" + 2 * (bytes([len(kind)]) + kind) + b"\1\0" + bytes([len(codec)]) + codec
    data = zlib.compress(bytes(3 << 20), 9 if packed else 0)
    record = (2 + len(data)).to_bytes(4) + (2).to_bytes(4) + b"\1a" + data
    (tmp_path / "a.seq").write_bytes(head + bytes(4) + b"S" * 16 + record)
    monkeypatch.setattr(member, "MOST_READ_BYTES", 2 << 20)
    monkeypatch.setattr(sequence_file, "MOST_READ_BYTES", 2 << 20)
    with pytest.raises(BadContainer, match="more than the 2 MiB that are read"):
        listed(tmp_path / "a.seq")


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of much content, before the disk is full."""
    monkeypatch.setattr(member, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(member, "MOST_EXPANSION", 10)
    zeros = {f"{number}.wav": bytes(1 << 20) for number in range(4)}
    for make, name in ((make_tgz, "a.tgz"), (make_zip, "a.zip"), (make_avro, "a.avro")):
        with pytest.raises(BadContainer, match=r"of 1048576 bytes|of 4194304 bytes|much larger"):
            listed(make(tmp_path / name, zeros))


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
    made = {name: make(folder / name, CONTENTS).read_bytes() for name, make in MAKERS.items()}
    for name, compression in (("bzip2.zip", zipfile.ZIP_BZIP2), ("lzma.zip", zipfile.ZIP_LZMA)):
        made[name] = make_zip(folder / name, CONTENTS, compression).read_bytes()
    return made


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from([*sorted(MAKERS), "bzip2.zip", "lzma.zip"]),
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
        name = sorted(containers)[number % len(containers)]
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
