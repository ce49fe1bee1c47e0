"""Containers of recordings, made by the libraries of their formats."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import Member

Contents = Mapping[str, bytes]
CONTENTS = {"en/a.wav": b"a" * 1000, "fr/b.wav": os.urandom(70_000), "c.wav": b"", "é ü.wav": b"x"}


def make_tar(path: Path, contents: Contents, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def make_tgz(path: Path, contents: Contents) -> Path:
    return make_tar(path, contents, "w:gz")


def make_zip(path: Path, contents: Contents, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def make_avro(path: Path, contents: Contents) -> Path:
    fields = [{"name": "path", "type": "string"}, {"name": "content", "type": "bytes"}]
    schema = {"type": "record", "name": "Recording", "fields": fields}
    rows = ({"path": name, "content": data} for name, data in contents.items())
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows, codec="deflate")
    return path


def make_parquet(path: Path, contents: Contents) -> Path:
    columns = {"path": [*contents], "content": [*contents.values()]}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def make_audio_dataset(path: Path, contents: Contents) -> Path:
    """A Parquet file with a struct, as datasets of audio are published."""
    rows = [
        {"audio": {"bytes": data, "path": name}, "text": "x"} for name, data in contents.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


MAKERS: dict[str, Callable[[Path, Contents], Path]] = {
    "calls.tar": make_tar,
    "calls.tar.gz": make_tgz,
    "calls.tgz": make_tgz,
    "calls.zip": make_zip,
    "calls.avro": make_avro,
    "calls.parquet": make_parquet,
    "audio.parquet": make_audio_dataset,
}


def listed(path: Path) -> list[Member]:
    """The members of a container."""
    with path.open("rb") as file:
        return [*open_container(path.name, file, path.stat().st_size).members()]


def unpacked(path: Path, wanted: dict[str, int]) -> dict[str, bytes]:
    """The bytes of members."""
    with path.open("rb") as file:
        container = open_container(path.name, file, path.stat().st_size)
        return {name: b"".join(content) for name, content in container.unpack(wanted)}
