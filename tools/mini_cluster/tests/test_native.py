"""The native library is for this processor, and an unknown processor does without."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from audioloom_mini_cluster.jars import default_cache
from audioloom_mini_cluster.java import find_java
from audioloom_mini_cluster.native import unpack_native


def test_an_unknown_processor_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched, and nothing made."""
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    assert not unpack_native(tmp_path / "cache", tmp_path / "native", java=Path("java"))
    assert [] == list(tmp_path.iterdir())


def test_it_is_a_shared_library_of_hadoop(tmp_path: Path) -> None:
    """With the call that sets a file's mode."""
    assert unpack_native(default_cache(), tmp_path / "native", java=find_java())
    data = (tmp_path / "native/libhadoop.so").read_bytes()
    assert b"\x7fELF" == data[:4]
    assert b"NativeIO_00024POSIX_chmodImpl" in data
