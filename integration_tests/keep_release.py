"""Keep what a release reads the contract with, and a little that it wrote, for test_mixed_versions.

`python integration_tests/keep_release.py CHECKOUT ARCHIVE`, CHECKOUT being of the commit that froze
a version. The archive holds `site/`, the trainer with what it imports of ours, as installed from
wheels; and `loom/`, features with numbers to learn and shards of them, as that release made them.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np

READERS = ("packages/manifest", "packages/stage", "packages/storage", "services/trainer")
PATTERN = r"(?P<group>[^/]+)/(?P<target>[0-9.]+)-.*"
RATE, SECONDS = 16_000, 0.1


def main() -> None:
    """Make it in a temporary folder; the same bytes come of the same release but for times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("archive", type=Path)
    asked = parser.parse_args()
    checkout = asked.checkout.resolve()
    with tempfile.TemporaryDirectory(prefix="loom-") as temporary:
        folder = Path(temporary)
        install(checkout, folder)
        write_recordings(folder / "recordings")
        write_shards(checkout, folder)
        asked.archive.write_bytes(packed(folder, "site", "loom"))


def install(checkout: Path, folder: Path) -> None:
    """Unpack the wheels of the readers into `site/`."""
    for project in READERS:
        build = ("uv", "build", "--quiet", "--wheel", f"--out-dir={folder / 'wheels'}")
        subprocess.run([*build, str(checkout / project)], check=True)
    for wheel in (folder / "wheels").glob("*.whl"):
        shutil.unpack_archive(wheel, folder / "site", "zip")


def write_recordings(folder: Path) -> None:
    """Tones of 24 pitches by six speakers; the pitch in kHz is the number to learn."""
    noise = np.random.default_rng(0)
    time = np.arange(round(RATE * SECONDS)) / RATE
    for number in range(24):
        kilohertz = (number + 3) / 8
        tone = np.sin(2000 * np.pi * kilohertz * time) + noise.normal(0, 0.05, len(time))
        path = folder / f"speaker{number % 6}" / f"{kilohertz}-tone.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as sink:
            sink.setparams((1, 2, RATE, 0, "NONE", ""))
            sink.writeframes((tone * 8000).astype("<i2").tobytes())


def write_shards(checkout: Path, folder: Path) -> None:
    """Through the programs of the release."""
    recordings = run(
        *(checkout, "featurizer", "scan", folder / "recordings", "--root", folder / "loom"),
        *("--pattern", PATTERN),
    )
    features = run(checkout, "featurizer", "run", recordings, "--window-seconds", SECONDS)
    shards = run(
        *(checkout, "sharder", "run", features, "--target", "number", "--lanes", 2, "--shards", 4),
        *("--split", "train=0.7,val=0.3"),
    )
    run(checkout, "featurizer", "verify", features)
    run(checkout, "sharder", "verify", shards)


def run(checkout: Path, stage: str, *words: object) -> str:
    """The answer of a stage of the checkout."""
    uv = ("uv", "run", "--quiet", "--locked", "--no-dev", f"--project={checkout}/services/{stage}")
    command = (*uv, f"audioloom-{stage}", *map(str, words))
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return done.stdout.strip()


def packed(folder: Path, *names: str) -> bytes:
    """A tar.xz of some folders in it, in the order of their names, of nobody and no time."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:xz", preset=9) as archive:
        for path in files(folder, names):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = path.stat().st_size
            with path.open("rb") as source:
                archive.addfile(entry, source)
    return sink.getvalue()


def files(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """All files below, sorted."""
    for name in names:
        yield from (path for path in sorted((folder / name).rglob("*")) if path.is_file())


if __name__ == "__main__":
    main()
