from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from audioloom_featurizer.containers.member import BadContainer
from featurizer_containers import listed, make_zip, unpacked


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
