import io
from collections.abc import Callable

import numpy as np
import pytest
import soundfile
from audioloom_audio.decoding.g711 import alaw_table, ulaw_table
from numpy.typing import NDArray


@pytest.mark.parametrize(("tag", "table"), [(6, alaw_table), (7, ulaw_table)])
def test_every_code_decodes_as_libsndfile_decodes_it(
    tag: int, table: Callable[[], NDArray[np.float32]], make_wave: Callable[..., bytes]
) -> None:
    """All 256 codes, bit for bit."""
    file = make_wave(bytes(range(256)), tag=tag, bits=8)
    expected, _ = soundfile.read(io.BytesIO(file), dtype="float32")

    assert expected.tobytes() == table().tobytes()
