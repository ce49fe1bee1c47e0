import subprocess
import sys

import audioloom_audio


def test_the_public_names_exist_and_are_sorted() -> None:
    """The list is the API."""
    assert sorted(audioloom_audio.__all__) == audioloom_audio.__all__
    for name in audioloom_audio.__all__:
        assert hasattr(audioloom_audio, name)


def test_importing_and_using_it_on_plain_wave_loads_nothing_heavy() -> None:
    """Thousands of worker processes start: librosa costs 1.3 s and 180 MB each."""
    script = (
        "import io, struct, sys, audioloom_audio\n"
        "fmt = struct.pack('<HHIIHH', 1, 1, 8000, 16000, 2, 16)\n"
        "data = bytes(range(256)) * 40\n"
        "body = b'WAVEfmt ' + struct.pack('<I', 16) + fmt + b'data'"
        " + struct.pack('<I', len(data)) + data\n"
        "file = io.BytesIO(b'RIFF' + struct.pack('<I', len(body)) + body)\n"
        "assert len(list(audioloom_audio.extract(file))) == 1\n"
        "print(*{'librosa', 'soundfile', 'scipy.signal', 'numba'} & set(sys.modules))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )

    assert "" == result.stdout.strip()
