from __future__ import annotations

import os

import pytest
from audioloom_storage import Location, finished_path, is_temporary
from audioloom_storage.backend.temporary import temporary_beside
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "name",
    [
        *("", "manifest.json", "a.part", ".part", ".a.part", ".a.0123456789abcdeg.part"),
        *(".a.0123456789abcdef.part.wav", "a.0123456789abcdef.part", ".a.0123456789ABCDEF.part"),
    ],
)
def test_what_others_made_is_not_ours(name: str) -> None:
    """Users have .part files too, and gc must not take them."""
    assert not is_temporary(name)


@given(
    st.binary(min_size=1, max_size=255).filter(lambda name: b"/" not in name and b"\0" not in name)
)
def test_every_name_has_a_temporary_one_beside_it(name: bytes) -> None:
    """Recognised, in the same folder, short enough, and new each time."""
    target = Location("file", "", "/folder").child(f"x{os.fsdecode(name)[:-1]}")
    first, second = temporary_beside(target), temporary_beside(target)
    assert target.parent == first.parent == second.parent
    assert first != second
    assert is_temporary(first.name)
    assert is_temporary(second.name)
    assert 255 >= len(os.fsencode(first.name))


@given(st.text(max_size=50).filter(lambda name: not {"/", "\0"} & set(name)))
def test_a_name_comes_back_from_its_temporary_one(name: str) -> None:
    """Where both fit, and all of it can be written as UTF-8."""
    target = Location("file", "", "/folder").child(f"x{name}")
    assert target.name == finished_path(temporary_beside(target).name)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/.b.json.0123456789abcdef.part", "a/b.json"),
        (".b.0123456789abcdef.part", "b"),
        ("..b.0123456789abcdef.part.0123456789abcdef.part", ".b.0123456789abcdef.part"),
        ("a/..0123456789abcdef.part", "a/"),
        (".a.0123456789abcdef.part/b", ".a.0123456789abcdef.part/b"),
        ("a/b.json", "a/b.json"),
    ],
)
def test_an_unfinished_file_tells_what_it_is_to_be_called(path: str, expected: str) -> None:
    """Once: whether that is one of our names is for the stage to say."""
    assert expected == finished_path(path)
