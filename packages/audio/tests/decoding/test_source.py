import io

import numpy as np
import pytest
from audioloom_audio.decoding.source import read_fully, size_of


class _Trickle(io.BytesIO):
    """Gives at most three bytes a read, as a remote file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3 if size is None or size < 0 else min(3, size))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10, 11])
def test_a_short_read_is_not_the_end(count: int) -> None:
    """Only nothing at all is."""
    assert bytes(range(10))[:count] == read_fully(_Trickle(bytes(range(10))), count)


def test_the_size_is_asked_of_the_source_and_the_position_kept() -> None:
    """A listing made earlier may be stale."""
    source = io.BytesIO(np.random.default_rng(0).bytes(1000))
    source.seek(17)

    assert 1000 == size_of(source)
    assert 17 == source.tell()
