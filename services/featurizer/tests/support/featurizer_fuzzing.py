"""Mutated recordings through the whole stage: scan, run in the watched process, verify.

What must hold of any bytes whatever: nothing crashes or hangs beyond one recording, every file is
in the features or in the ledger, all values are finite, and no refusal is without a name. `verify`
says the first three; a class `unexpected` is an error that nobody has thought of.

    python featurizer_fuzzing.py [--files N] [--seed S] [--minutes M] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import structlog
from audioloom_featurizer.commands.run import run as run_command
from audioloom_featurizer.commands.scan import scan
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_featurizer.settings import RunSettings, ScanSettings, VerifySettings
from audioloom_manifest.reader import read_manifest
from featurizer_specimens import specimens
from featurizer_work import supervised

BATCH = 1000
MAGIC_KEPT = 0.85  # or most of what lies behind it is never reached
BAD = ("unexpected", "decoder_died", "decoder_stalled", "decoder_memory")
LIMITS = WorkerLimits(memory=512 << 20, seconds=20)

# Numbers that parsers trip over.
_ODD = [0, 1, 2, 7, 255, 256, 1024, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
        0xFFFFFFFE, 0xFFFFFFFF]  # fmt: skip

_FIELDS = ((8, "<H"), (10, "<H"), (12, "<I"), (16, "<I"), (20, "<H"), (22, "<H"))

# What batches ask for, in turn.
_WISHES: list[dict[str, Any]] = [
    {"windows": "all"},
    {"windows": "first"},
    {"windows": "all", "channels": "split", "raw_format": "mulaw"},
    {"windows": "all", "level": "recording", "raw_format": "gsm"},
    {"windows": "all", "channels": "left", "hop_seconds": 0.25, "engine": "numpy"},
]


def mutated(dice: random.Random) -> tuple[str, bytes]:
    """A specimen with one to four things done to it, and an ending that mostly belongs to it."""
    name = dice.choice([*specimens()])
    data = bytearray(specimens()[name])
    for _ in range(dice.choice((1, 1, 1, 2, 3, 4))):
        start = data[:4]
        data = dice.choice(_MUTATIONS)(data, dice)
        if dice.random() < MAGIC_KEPT:
            data[:4] = start
    if dice.random() < 0.1:
        name = dice.choice([*specimens()])
    return name.rpartition(".")[2], bytes(data)


def _place(data: bytearray, dice: random.Random) -> int:
    """Mostly in the header: there a byte decides most."""
    end = len(data) if dice.random() < 0.3 else min(len(data), dice.choice((16, 64, 256, 1024)))
    return dice.randrange(max(1, end))


def _flip(data: bytearray, dice: random.Random) -> bytearray:
    for _ in range(dice.choice((1, 1, 4, 32, 256))):
        if data:
            data[_place(data, dice)] ^= 1 << dice.randrange(8)
    return data


def _cut(data: bytearray, dice: random.Random) -> bytearray:
    return data[: dice.choice((_place(data, dice), dice.randrange(len(data) + 1)))]


def _splice(data: bytearray, dice: random.Random) -> bytearray:
    other = dice.choice([*specimens().values()])
    return data[: _place(data, dice)] + other[dice.randrange(len(other)) :]


def _overwrite(data: bytearray, dice: random.Random) -> bytearray:
    """A number of the header."""
    kind = dice.choice(("<H", "<I", "<Q", ">H", ">I", ">Q", "B"))
    bytes_of_it = struct.pack(kind, dice.choice(_ODD) & ((1 << 8 * struct.calcsize(kind)) - 1))
    at = _place(data, dice)
    data[at : at + len(bytes_of_it)] = bytes_of_it
    return data


def _lie(data: bytearray, dice: random.Random) -> bytearray:
    """About a size, where a chunk says one."""
    names = (
        b"data",
        b"fmt ",
        b"RIFF",
        b"fact",
        b"SSND",
        b"COMM",
        b"FORM",
        b"desc",
        b"pakt",
        b"ds64",
    )
    at = [data.find(name) for name in names if name in data]
    if at:
        where = dice.choice(at) + 4
        data[where : where + 4] = struct.pack(dice.choice("<>") + "I", dice.choice(_ODD))
    return data


def _field(data: bytearray, dice: random.Random) -> bytearray:
    """About channels, rate, alignment or bits in a WAV."""
    if (at := data.find(b"fmt ")) >= 0 and len(data) > at + 24:
        offset, kind = dice.choice(_FIELDS)
        mask = (1 << 8 * struct.calcsize(kind)) - 1
        struct.pack_into(kind, data, at + offset, dice.choice((*_ODD, 3, 6, 17, 49, 64, 85)) & mask)
    return data


def _insert(data: bytearray, dice: random.Random) -> bytearray:
    at = _place(data, dice)
    return data[:at] + dice.randbytes(dice.choice((1, 2, 8, 100, 5000))) + data[at:]


def _remove(data: bytearray, dice: random.Random) -> bytearray:
    at = _place(data, dice)
    del data[at : at + dice.choice((1, 2, 8, 100, 5000))]
    return data


def _repeat(data: bytearray, dice: random.Random) -> bytearray:
    at = _place(data, dice)
    return data[: at + 4096] + data[at:]


def _noise(data: bytearray, dice: random.Random) -> bytearray:
    """Nothing but a beginning is left."""
    return data[: dice.choice((0, 4, 12, 24, 44, 100))] + dice.randbytes(dice.randrange(4000))


_MUTATIONS = (
    _flip, _flip, _flip, _cut, _splice, _overwrite, _overwrite, _overwrite, _lie, _field, _insert,
    _remove, _repeat, _noise,
)  # fmt: skip


@dataclass
class Found:
    """What became of so many files."""

    files: int = 0
    windows: int = 0
    extracted: int = 0
    flagged: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    bad: list[dict[str, Any]] = field(default_factory=list)


def fuzz(
    folder: Path, files: int, seed: int, keep: Path | None = None, batch: int = BATCH
) -> Iterator[Found]:
    """Make so many files and take them through the stage; what was found so far, batch by batch.

    Raises:
        StageError: `verify` found that something does not add up, or is not finite.
    """
    found = Found()
    while found.files < files:
        number = found.files // batch
        with tempfile.TemporaryDirectory(dir=folder) as place:
            _one(Path(place), min(batch, files - found.files), seed, number, found, keep)
        yield found


def _one(place: Path, files: int, seed: int, number: int, found: Found, keep: Path | None) -> None:
    source, root = place / "source", place / "root"
    source.mkdir()
    for each in range(files):
        ending, data = mutated(random.Random(f"{seed}/{number}/{each}"))  # noqa: S311 - no secret
        (source / f"{each:06d}.{ending}").write_bytes(data)
    endings = tuple(sorted({name.rpartition(".")[2] for name in specimens()}))
    scanned = scan(ScanSettings(source=str(source), root=str(root), suffix=endings))
    wishes = {"window_seconds": 0.5, "error_budget": "100%", **_WISHES[number % len(_WISHES)]}
    run = RunSettings(recordings=str(scanned.text), **wishes)
    opened = read_manifest(
        str(run_command(run, partial(supervised, limits=LIMITS)).text),
        "features",
    )
    verify(VerifySettings(manifest=str(opened.location)))
    stats = opened.manifest.stats
    found.files += stats.recordings
    found.windows += stats.windows
    found.extracted += stats.extracted
    found.flagged += stats.flagged
    found.refusals.update(stats.refusals)
    for entry in opened.files("ledger"):
        for row in pq.read_table(Path(opened.folder.path, entry.path)).to_pylist():
            if row["class"] in BAD:
                found.bad.append({**row, "batch": number})
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    kept = keep / f"{row['class']}-{seed}-{number}-{row['path']}"
                    kept.write_bytes((source / row["path"]).read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", type=Path, help="folder for the files that found something")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    start = time.monotonic()
    found = Found()
    with tempfile.TemporaryDirectory(prefix="audioloom-fuzz-") as folder:
        for found in fuzz(Path(folder), given.files, given.seed, given.keep):
            minutes = (time.monotonic() - start) / 60
            print(  # noqa: T201 - a program
                f"{found.files} files in {minutes:.1f} min: {found.extracted} extracted"
                f" ({found.flagged} flagged, {found.windows} windows), refused:"
                f" {dict(found.refusals.most_common())}",
                flush=True,
            )
            if minutes > given.minutes:
                break
    for row in found.bad:
        print(row)  # noqa: T201 - as above
    return 1 if found.refusals["unexpected"] else 0


if __name__ == "__main__":
    sys.exit(main())
