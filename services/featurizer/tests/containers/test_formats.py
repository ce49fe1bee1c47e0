from __future__ import annotations

import decimal
import gzip
import io
import os
import random
import subprocess
import tarfile
import tracemalloc
import uuid
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_featurizer.containers import formats, member, sequence_file
from audioloom_featurizer.containers.formats import (
    container_suffix,
    open_container,
    read_in_sequence,
)
from audioloom_featurizer.containers.member import BadContainer, Member, NoRecordings, safe_name
from audioloom_storage import Unavailable
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


def test_two_members_of_a_zip_with_one_name_are_both_listed(tmp_path: Path) -> None:
    """So that the scan refuses them, as those of a tar."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("a.wav", b"x")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a.wav", b"y")
    assert ["a.wav"] * 2 == [each.name for each in listed(tmp_path / "a.zip")]


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_a_zip_is_damage(tmp_path: Path, compression: int) -> None:
    """Whatever its compression; the libraries raise different errors."""
    path = make_zip(tmp_path / "a.zip", {"a.wav": os.urandom(5000)}, compression)
    data = bytearray(path.read_bytes())
    data[50:90] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(BadContainer, match="damaged zip"):
        unpacked(path, {"a.wav": 5000})


@pytest.mark.parametrize("name", ["calls.parquet", "calls.avro"])
def test_rows_that_are_no_members_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A small file may have thousands of millions of them."""
    monkeypatch.setattr(member, "MOST_MEMBERS", 5)
    MAKERS[name](tmp_path / name, {f"../{number}": b"" for number in range(6)})
    with pytest.raises(BadContainer, match="more than 5 members"):
        listed(tmp_path / name)


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_a_block_of_avro_is_unpacked_within_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """A thousandth of its size is in the file; without a bound the library takes all memory."""
    fields = [{"name": "path", "type": "string"}, {"name": "content", "type": "bytes"}]
    schema = fastavro.parse_schema({"type": "record", "name": "Recording", "fields": fields})
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        rows = [{"path": f"{number}.wav", "content": bytes(1 << 20)} for number in range(4)]
        fastavro.writer(file, schema, rows, codec=codec, sync_interval=8 << 20)
    assert [1 << 20] * 4 == [each.size for each in listed(path)]
    monkeypatch.setattr(formats, "MOST_READ_BYTES", 2 << 20)
    with pytest.raises(BadContainer, match="more than the 2 MiB"):
        listed(path)


def test_a_codec_of_avro_without_a_bound_is_not_read(tmp_path: Path) -> None:
    """Even where a package for it is installed; the text names the codecs that are read."""
    path = make_avro(tmp_path / "a.avro", {"a.wav": b"x"})
    path.write_bytes(path.read_bytes().replace(b"\x0edeflate", b"\x06lz4", 1))
    with pytest.raises(BadContainer, match="the codec lz4: expected one of null, deflate, "):
        listed(path)


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


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_a_header_that_claims_much_is_not_believed(tmp_path: Path, name: str, kind: bytes) -> None:
    """A long name of half a gigabyte; in a tar.gz it would take few bytes."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = kind, 1 << 29
    path = tmp_path / name
    data = entry.tobuf(tarfile.GNU_FORMAT) + bytes(10_000)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(BadContainer, match="claims"):
        listed(path)


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_a_name_that_is_not_utf_8_is_listed(tmp_path: Path, name: str) -> None:
    """With its bytes written out; the member is unpacked by the same name."""
    entry = tarfile.TarInfo("caf\N{LATIN SMALL LETTER E WITH ACUTE}.wav")
    entry.size = 4
    data = entry.tobuf(tarfile.GNU_FORMAT, "latin-1") + b"call".ljust(1536, b"\0")
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert [r"caf\xe9.wav"] == [each.name for each in listed(path)]
    assert {r"caf\xe9.wav": b"call"} == unpacked(path, {r"caf\xe9.wav": 4})


def header(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The header of a member of a tar that claims a size."""
    entry = tarfile.TarInfo("a.wav")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def pax_header(size: int, key: str = "size") -> bytes:
    """The same by an extended header."""
    entry = tarfile.TarInfo("a.wav")
    entry.size, entry.pax_headers = 10, {key: str(size)}
    return entry.tobuf(tarfile.PAX_FORMAT)


HOSTILE_TARS = {
    "more than a file can have": header(1 << 62),
    "more than 64 bits": header(1 << 70),
    "more by an extended header": pax_header(10**30),
    "more behind few bytes": pax_header(10**30, "GNU.sparse.realsize"),
    "less than nothing": pax_header(-600),
    "back to the beginning": header(-512, tarfile.GNUTYPE_SPARSE),
    "a name of a name of a name": (header(2, tarfile.GNUTYPE_LONGNAME) + b"a".ljust(512, b"\0"))
    * 2000,
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", HOSTILE_TARS)
def test_a_hostile_tar_is_damaged(tmp_path: Path, what: str, packed: bool) -> None:
    """Whatever its headers claim, it neither hangs nor raises anything else."""
    path = tmp_path / ("a.tar.gz" if packed else "a.tar")
    data = HOSTILE_TARS[what] + bytes(2048)
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(BadContainer):
        listed(path)


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_members_behind_a_file_of_many_holes_are_read(tmp_path: Path, name: str, form: str) -> None:
    """GNU tar keeps the places of the holes in two ways; such a file is no recording."""
    with (tmp_path / "holes.wav").open("wb") as file:
        for place in range(200):
            file.seek(place << 16)
            file.write(b"x")
    (tmp_path / "call.wav").write_bytes(b"call")
    packed = ["--gzip"] if name.endswith(".gz") else []
    words = ["tar", "--create", "--sparse", f"--format={form}", *packed, "--file", name]
    subprocess.run([*words, "holes.wav", "call.wav"], cwd=tmp_path, check=True)
    assert (tmp_path / name).stat().st_size < 1 << 20
    assert ["call.wav"] == [each.name for each in listed(tmp_path / name)]
    assert {"call.wav": b"call"} == unpacked(tmp_path / name, {"call.wav": 4})


def holes(blocks: int) -> bytes:
    """A sparse file of GNU tar without content, with so many blocks of places of holes."""
    head = bytearray(header(0, tarfile.GNUTYPE_SPARSE))
    head[482] = 1  # there are blocks
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    places = b"%011o\0" % 1 * 42
    return bytes(head) + (places + b"\1" + bytes(7)) * (blocks - 1) + places + bytes(8)


def fields(first: int, count: int) -> bytes:
    """A header of fields for all members, and a member."""
    text = b"".join(b"12 %07d=\n" % number for number in range(first, first + count))
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XGLTYPE, len(text)
    return entry.tobuf() + text + bytes(-len(text) % 512) + header(0)


def test_the_places_of_holes_take_no_memory(tmp_path: Path) -> None:
    """They may be a thousand times as many as the bytes of the file."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(holes(20_000) + header(0) + bytes(1024)))
    tracemalloc.start()
    assert 1 == len(listed(path))
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(("headers", "whole"), [(3, True), (30, False)])
def test_fields_for_all_members_have_a_bound(tmp_path: Path, headers: int, whole: bool) -> None:
    """The library keeps them to the end of the file."""
    path = tmp_path / "a.tar.gz"
    parts = [fields(number * 1000, 1000) for number in range(headers)]
    path.write_bytes(gzip.compress(b"".join(parts) + bytes(1024)))
    with nullcontext() if whole else pytest.raises(BadContainer, match="fields for all members"):
        assert headers == len(listed(path))


def make_typed_avro(path: Path, kinds: dict[str, Any], row: dict[str, Any]) -> Path:
    """An Avro file of one row."""
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "Recording", "fields": fields}
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), [row])
    return path


def test_a_logical_type_of_avro_is_neither_name_nor_content(tmp_path: Path) -> None:
    """The library answers other objects than text and bytes for it."""
    text = {"type": "string", "logicalType": "uuid"}
    path = make_typed_avro(
        tmp_path / "a.avro",
        {"key": text, "content": "bytes"},
        {"key": uuid.UUID(int=1), "content": b"x"},
    )
    assert ["000000000"] == [each.name for each in listed(path)]
    number = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    path = make_typed_avro(
        tmp_path / "b.avro",
        {"key": "string", "content": number},
        {"key": "a", "content": decimal.Decimal("1.25")},
    )
    with pytest.raises(NoRecordings, match="columns of bytes: none"):
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
