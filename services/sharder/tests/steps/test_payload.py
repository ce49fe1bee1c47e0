from __future__ import annotations

import io
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from audioloom_sharder.errors import DamagedRecord, DiskFull
from audioloom_sharder.steps.payload import Payload
from audioloom_storage import locate
from hypothesis import given
from hypothesis import strategies as st

WHERE = locate("/loom/segment.bin")


@given(
    st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=30),
    st.integers(1, 200),
    st.randoms(use_true_random=False),
)
def test_any_records_come_back(records: list[bytes], room: int, random: object) -> None:
    """In any order and of any number, whether memory holds all of them or not."""
    lengths = np.array([len(each) for each in records])
    with closing(Payload(np.empty(room, np.uint8))) as payload:
        places = np.array(
            [payload.add(io.BytesIO(b"head" + each), WHERE, 4, len(each)) for each in records]
        )
        assert (lengths.sum() <= room) == payload.is_in_memory
        for _ in range(3):
            some = random.sample(range(len(records)), random.randint(1, len(records)))  # type: ignore[attr-defined]
            memory, found = payload.load(places[some], lengths[some])
            again = [
                bytes(memory[at : at + lengths[one]]) for at, one in zip(found, some, strict=True)
            ]
            assert [records[one] for one in some] == again


def test_a_file_that_was_cut_is_named() -> None:
    """It is one of ours, in `work/`; the error says how to get rid of it."""
    with closing(Payload(np.empty(9, np.uint8))) as payload:
        for size in (5, 20):
            with pytest.raises(DamagedRecord, match=r"segment\.bin.*found 3"):
                payload.add(io.BytesIO(b"abc"), WHERE, 0, size)


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the folder that has no room, and what to do; the same command may succeed later."""

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with (
        closing(Payload(np.empty(2, np.uint8))) as payload,
        pytest.raises(DiskFull, match=r"TMPDIR") as caught,
    ):
        payload.add(io.BytesIO(b"abc"), WHERE, 0, 3)
    assert tempfile.gettempdir() == caught.value.where
    assert "--master local[N]" in str(caught.value)


def test_nothing_stays_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has no name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    payload = Payload(np.empty(2, np.uint8))
    payload.add(io.BytesIO(b"abc"), WHERE, 0, 3)
    assert not payload.is_in_memory
    assert [] == list(tmp_path.iterdir())
    payload.close()
