from __future__ import annotations

import gzip
import subprocess
import tarfile
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import pytest
from audioloom_featurizer.containers.member import BadContainer
from featurizer_containers import CONTENTS, listed, make_tar, unpacked


def test_a_member_of_a_tar_lies_in_one_piece(tmp_path: Path) -> None:
    """So a range of the file is the recording."""
    path = make_tar(tmp_path / "calls.tar", CONTENTS)
    data = path.read_bytes()
    for each in listed(path):
        assert each.offset is not None
        assert CONTENTS[each.name] == data[each.offset : each.offset + each.size]


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
