from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_featurizer.containers.member import BadContainer
from audioloom_featurizer.containers.sequence_file import SequenceFile
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from featurizer_containers import CONTENTS
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow  # Hadoop's own writer needs a session of Spark

SIZES = {name: len(data) for name, data in CONTENTS.items()}
CODECS = {"none": None, "zlib": "Default", "gzip": "Gzip", "bzip2": "BZip2", "snappy": "Snappy"}
COMPRESSION = "mapreduce.output.fileoutputformat.compress.type"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, bytes]]:
    """SequenceFiles that Hadoop wrote: each codec, for each value and for blocks of them."""
    folder = tmp_path_factory.mktemp("sequence")
    found: dict[str, bytes] = {}
    with spark_session("test", SparkSettings(master="local[1]")) as session:
        context = session.sparkContext
        rows = context.parallelize([(n, bytearray(d)) for n, d in CONTENTS.items()], 1)
        for codec, name in CODECS.items():
            for kind in ("RECORD", "BLOCK") if name else ("NONE",):
                target = folder / f"{codec}-{kind}"
                context._jsc.hadoopConfiguration().set(COMPRESSION, kind)
                whole = f"org.apache.hadoop.io.compress.{name}Codec" if name else None
                rows.saveAsNewAPIHadoopFile(
                    target.as_uri(),
                    "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat",
                    "org.apache.hadoop.io.Text",
                    "org.apache.hadoop.io.BytesWritable",
                    conf={
                        COMPRESSION: kind,
                        "mapreduce.output.fileoutputformat.compress": str(bool(name)).lower(),
                        **(
                            {"mapreduce.output.fileoutputformat.compress.codec": whole}
                            if whole
                            else {}
                        ),
                    },
                )
                (part,) = target.glob("part-*")
                found[target.name] = part.read_bytes()
    return found


def opened(data: bytes) -> SequenceFile:
    return SequenceFile(io.BytesIO(data), len(data))


def contents(data: bytes) -> list[bytes]:
    """What all members hold, after they were listed."""
    listed = [each.name for each in opened(data).members()]
    return [b"".join(content) for _, content in opened(data).unpack(listed)]


def test_what_hadoop_writes_is_read(written: dict[str, bytes]) -> None:
    """Whatever the codec; without one, a value lies in one piece."""
    packed = ("zlib", "gzip", "bzip2", "snappy")
    kinds = {f"{codec}-{kind}" for codec in packed for kind in ("RECORD", "BLOCK")}
    assert {"none-NONE", *kinds} == written.keys()
    for name, data in written.items():
        members = {each.name: each for each in opened(data).members()}
        assert SIZES == {each.name: each.size for each in members.values()}, name
        unpacked = {each: b"".join(content) for each, content in opened(data).unpack(SIZES)}
        assert CONTENTS == unpacked, name
        for each in members.values() if name == "none-NONE" else ():
            assert each.offset is not None
            assert CONTENTS[each.name] == data[each.offset : each.offset + each.size]


def test_a_file_that_is_cut_is_damaged(written: dict[str, bytes]) -> None:
    """In the header, in a length and in a value."""
    for name, data in written.items():
        for left in (0, 3, 60, len(data) // 2, len(data) - 1):
            with pytest.raises(BadContainer):
                assert contents(data[:left]), name


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (b"SEQ\x06", b"SEQ\x04", "version 6"),
        (b"hadoop.io.Text", b"hadoop.io.Long", "expected Text or bytes"),
        (b"GzipCodec", b"ZstdCodec", "the codec"),
    ],
)
def test_what_is_not_read_is_named(
    written: dict[str, bytes], before: bytes, after: bytes, found: str
) -> None:
    """Another version, other keys, a codec that is not read."""
    with pytest.raises(BadContainer, match=found):
        opened(written["gzip-BLOCK"].replace(before, after, 1))


def test_a_value_that_begins_behind_its_record_is_damage() -> None:
    """A Text has a length of its own, for which a record of a key alone has no place."""
    kind = b"org.apache.hadoop.io.Text"
    key = b"\1a"
    head = b"SEQ\x06" + 2 * (bytes([len(kind)]) + kind) + bytes(2 + 4) + b"S" * 16
    record = 2 * len(key).to_bytes(4) + key
    with pytest.raises(BadContainer, match="a value of -1 bytes"):
        assert contents(head + record + b"z" * 20)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_mutated_file_lists_or_is_damaged(written: dict[str, bytes], data: Any) -> None:
    """Nothing else is raised."""
    whole = bytearray(written[data.draw(st.sampled_from(sorted(written)))])
    place = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.binary(min_size=1, max_size=8))
    whole[place : place + len(change)] = change
    try:
        container = opened(bytes(whole))
        sizes = {each.name: each.size for each in container.members()}
        for _, content in container.unpack(sizes):
            assert b"".join(content) is not None
    except BadContainer:
        pass


def test_a_written_sequence_file_is_a_whole_path(written: dict[str, bytes], tmp_path: Path) -> None:
    """By its suffix."""
    from audioloom_featurizer.containers.formats import open_container

    (tmp_path / "a.seq").write_bytes(written["none-NONE"])
    with (tmp_path / "a.seq").open("rb") as file:
        found = open_container("a.seq", file, len(written["none-NONE"])).members()
        assert SIZES == {each.name: each.size for each in found}
