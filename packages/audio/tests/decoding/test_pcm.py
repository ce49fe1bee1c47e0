import io
import subprocess
import sys
from collections.abc import Callable

import audioloom_audio_native
import numpy as np
import pytest
import soundfile
from audioloom_audio import signals as numpy_samples
from audioloom_audio.decoding import pcm
from audioloom_audio.decoding.pcm import alaw_table, ulaw_table
from audioloom_audio.decoding.riff import read_header
from audioloom_audio.signals import MIX, Samples
from numpy.typing import NDArray

CODINGS = ["PCM_16", "ULAW", "ALAW"]


def _decode(
    content: bytes, numbers: tuple[int, ...], by: Samples = numpy_samples
) -> list[NDArray[np.float32]]:
    source = io.BytesIO(content)
    header = read_header(source, len(content), "x")
    codec = pcm.codec_of(header)
    assert codec is not None
    blocks = list(pcm.blocks(source, header, codec, numbers, by))
    return [np.concatenate(signals) for signals in zip(*blocks, strict=True)]


@pytest.mark.parametrize("by", [numpy_samples, audioloom_audio_native])
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("samples", [1, 65_535, 65_536, 65_537, 150_000])
def test_samples_are_those_of_libsndfile_bit_for_bit(
    by: Samples, coding: str, channels: int, samples: int, encode: Callable[..., bytes]
) -> None:
    """Every channel, and their mean, over the edges of a block."""
    signal = np.random.default_rng(0).uniform(-1, 1, (samples, channels))
    content = encode(signal, 8000, "WAV", coding)
    expected, _ = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)

    assert coding.lower() == pcm.codec_of(read_header(io.BytesIO(content), len(content), "x"))
    if channels <= 2 or by is numpy_samples:
        assert np.mean(expected.T, axis=0).tobytes() == _decode(content, (MIX,), by)[0].tobytes()
    for number, actual in enumerate(_decode(content, tuple(range(channels)), by)):
        assert expected[:, number].tobytes() == actual.tobytes()


@pytest.mark.parametrize("by", [numpy_samples, audioloom_audio_native])
def test_every_16_bit_code_is_exact(by: Samples, make_wave: Callable[..., bytes]) -> None:
    """Full scale at both ends included, alone and mixed."""
    codes = np.arange(-32768, 32768).astype("<i2")
    expected = (codes / 32768).astype(np.float32)

    assert expected.tobytes() == _decode(make_wave(codes.tobytes()), (0,), by)[0].tobytes()
    stereo = make_wave(np.repeat(codes, 2).tobytes(), channels=2)
    assert expected.tobytes() == _decode(stereo, (MIX,), by)[0].tobytes()


def test_bytes_that_make_no_whole_frame_are_dropped(make_wave: Callable[..., bytes]) -> None:
    """Two and a half stereo frames are two."""
    assert 2 == len(_decode(make_wave(bytes(10), channels=2), (MIX,))[0])


def test_a_source_that_ends_before_its_time_ends_the_blocks(
    make_wave: Callable[..., bytes],
) -> None:
    """A file that shrinks while it is read is short, not an error of this module."""
    content = make_wave(bytes(200_000))
    header = read_header(io.BytesIO(content), len(content), "x")

    blocks = list(
        pcm.blocks(io.BytesIO(content[:100_001]), header, "pcm_16", (MIX,), numpy_samples)
    )

    assert (100_001 - 44) // 2 == sum(len(block) for (block,) in blocks)


@pytest.mark.parametrize(
    "changes", [{"bits": 24}, {"tag": 3, "bits": 32}, {"tag": 7, "bits": 16}, {"tag": 0x31}]
)
def test_other_codings_are_left_to_libsndfile(
    make_wave: Callable[..., bytes], changes: dict[str, int]
) -> None:
    """Only what is certain is decoded here."""
    content = make_wave(bytes(100), **changes)

    assert None is pcm.codec_of(read_header(io.BytesIO(content), len(content), "x"))


def test_plain_wave_needs_no_libsndfile(make_wave: Callable[..., bytes]) -> None:
    """On a node where it cannot be loaded, most telephone archives are still read."""
    script = (
        "import io, sys\n"
        "sys.modules['soundfile'] = None\n"
        "from audioloom_audio import extract\n"
        "print(len(list(extract(io.BytesIO(sys.stdin.buffer.read())))))\n"
    )
    for changes in ({}, {"tag": 7, "bits": 8}, {"tag": 6, "bits": 8, "channels": 2}):
        result = subprocess.run(
            [sys.executable, "-c", script],
            input=make_wave(bytes(1000), **changes),
            check=True,
            capture_output=True,
        )
        assert b"1" == result.stdout.strip()


@pytest.mark.parametrize(("tag", "table"), [(6, alaw_table), (7, ulaw_table)])
def test_every_code_decodes_as_libsndfile_decodes_it(
    tag: int, table: Callable[[], NDArray[np.float32]], make_wave: Callable[..., bytes]
) -> None:
    """All 256 codes, bit for bit."""
    file = make_wave(bytes(range(256)), tag=tag, bits=8)
    expected, _ = soundfile.read(io.BytesIO(file), dtype="float32")

    assert expected.tobytes() == table().tobytes()
