"""Each codec: its content, its bound and its damage; and blocks that Avro's own library wrote."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from audioloom_featurizer.containers.codecs import AVRO, DEFAULT, HADOOP
from audioloom_featurizer.containers.formats import open_container
from audioloom_featurizer.containers.member import BadContainer
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from featurizer_containers import CONTENTS
from hypothesis import given
from hypothesis import strategies as st

CHUNK = 100
MOST = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def snappy(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="snappy", asbytes=True)
    return packed


def avro_snappy(data: bytes) -> bytes:
    return snappy(data) + zlib.crc32(data).to_bytes(4)


def hadoop_snappy(data: bytes) -> bytes:
    """Two blocks, each of chunks of some bytes."""
    out = io.BytesIO()
    for block in (data[: len(data) // 2], data[len(data) // 2 :]):
        out.write(len(block).to_bytes(4))
        for start in range(0, len(block), CHUNK):
            chunk = snappy(block[start : start + CHUNK])
            out.write(len(chunk).to_bytes(4) + chunk)
    return out.getvalue()


HADOOP_CLASS = DEFAULT.replace("DefaultCodec", "{}Codec").format
PACKED: dict[str, tuple[Callable[[bytes, int], bytes], Callable[[bytes], bytes]]] = {
    "deflate": (AVRO["deflate"], raw_deflate),
    "bzip2": (AVRO["bzip2"], bz2.compress),
    "xz": (AVRO["xz"], lzma.compress),
    "snappy": (AVRO["snappy"], avro_snappy),
    "zstandard": (AVRO["zstandard"], partial(pa.compress, codec="zstd", asbytes=True)),
    "Default": (HADOOP[HADOOP_CLASS("Default")], zlib.compress),
    "Gzip": (HADOOP[HADOOP_CLASS("Gzip")], gzip.compress),
    "BZip2": (HADOOP[HADOOP_CLASS("BZip2")], bz2.compress),
    "Snappy": (HADOOP[HADOOP_CLASS("Snappy")], hadoop_snappy),
}


def test_every_codec_is_tested() -> None:
    """A new one needs a line above."""
    assert len(PACKED) == len(AVRO.keys() - {"null"}) + len(HADOOP)


@pytest.mark.parametrize("name", PACKED)
def test_what_is_unpacked_has_a_bound(name: str) -> None:
    """A megabyte of zeros takes a few bytes; one byte less is not enough for it."""
    unpack, pack = PACKED[name]
    packed = pack(bytes(MOST))
    assert bytes(MOST) == unpack(packed, MOST)
    with pytest.raises(BadContainer, match="more than the 0 MiB"):
        unpack(packed, MOST - 1)


@pytest.mark.parametrize("name", PACKED)
@given(data=st.binary(max_size=1000))
def test_what_was_packed_comes_back(name: str, data: bytes) -> None:
    """Whatever it is, nothing too."""
    unpack, pack = PACKED[name]
    assert data == unpack(pack(data), MOST)


@pytest.mark.parametrize("name", PACKED)
@given(data=st.data())
def test_damage_is_told_as_damage(name: str, data: st.DataObject) -> None:
    """Bytes that are changed, cut or added; a codec without a checksum may give other content."""
    unpack, pack = PACKED[name]
    packed = bytearray(pack(b"content " * 40))
    place = data.draw(st.integers(0, len(packed)))
    new = data.draw(st.binary(max_size=8))
    packed[place : place + data.draw(st.integers(0, len(packed)))] = new
    with suppress(BadContainer):
        assert len(unpack(bytes(packed), MOST)) <= MOST


def test_a_wrong_checksum_of_avro_is_damage() -> None:
    """Snappy itself would not see it."""
    packed = snappy(b"content") + zlib.crc32(b"Content").to_bytes(4)
    with pytest.raises(BadContainer, match="checksum"):
        AVRO["snappy"](packed, MOST)


def test_a_block_of_empty_chunks_ends() -> None:
    """It claims content that never comes."""
    packed = (5).to_bytes(4) + 3 * ((1).to_bytes(4) + snappy(b""))
    with pytest.raises(BadContainer, match="an empty chunk"):
        HADOOP[HADOOP_CLASS("Snappy")](packed, MOST)


@pytest.mark.slow  # Avro's own library needs a session of Spark
def test_what_avro_for_java_writes_is_read(tmp_path: Path) -> None:
    """By each codec that it has, in blocks of several records."""
    schema_text = (
        '{"type": "record", "name": "Call", "fields": [{"name": "path", "type": "string"},'
        ' {"name": "content", "type": "bytes"}]}'
    )
    with spark_session("test", SparkSettings(master="local[1]")) as session:
        jvm: Any = session.sparkContext._jvm
        avro = jvm.org.apache.avro
        schema = avro.Schema.Parser().parse(schema_text)
        for codec in AVRO:
            path = tmp_path / f"{codec}.avro"
            writer = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
            writer.setCodec(avro.file.CodecFactory.fromString(codec))
            writer.create(schema, jvm.java.io.File(str(path)))
            for name, content in CONTENTS.items():
                row = avro.generic.GenericData.Record(schema)
                row.put("path", name)
                row.put("content", jvm.java.nio.ByteBuffer.wrap(content))
                writer.append(row)
            writer.close()
    for path in tmp_path.iterdir():
        with path.open("rb") as file:
            container = open_container(path.name, file, path.stat().st_size)
            found = {name: b"".join(parts) for name, parts in container.unpack(CONTENTS)}
        assert CONTENTS == found, path.name
