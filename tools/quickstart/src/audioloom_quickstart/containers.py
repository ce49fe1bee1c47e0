"""Pack recordings into one container, by the libraries of the formats."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def pack(voices: Path, container: str) -> Path:
    """Pack a folder of recordings; return the container."""
    target = voices.with_name(f"{voices.name}.{container}")
    if not target.exists():
        PACKERS[container](target, sorted(voices.rglob("*.wav")), voices)
    return target


def _tar(target: Path, files: list[Path], top: Path) -> None:
    with tarfile.open(target, "w:gz" if target.suffix == ".gz" else "w") as archive:
        for file in files:
            archive.add(file, file.relative_to(top))


def _zip(target: Path, files: list[Path], top: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(top))


def _parquet(target: Path, files: list[Path], top: Path) -> None:
    def rows() -> Iterator[dict[str, object]]:
        for file in files:
            yield {"path": str(file.relative_to(top)), "content": file.read_bytes()}

    pq.write_table(pa.Table.from_pylist([*rows()]), target)


PACKERS: dict[str, Callable[[Path, list[Path], Path], None]] = {
    "tar": _tar,
    "tar.gz": _tar,
    "zip": _zip,
    "parquet": _parquet,
}
