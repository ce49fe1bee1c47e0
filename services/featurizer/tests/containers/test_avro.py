from __future__ import annotations

import decimal
import uuid
from pathlib import Path
from typing import Any

import fastavro
import pytest
from audioloom_featurizer.containers import avro
from audioloom_featurizer.containers.member import BadContainer, NoRecordings
from featurizer_containers import listed, make_avro, unpacked


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_a_block_of_avro_is_unpacked_within_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """A thousandth of its size is in the file; without a bound the library takes all memory."""
    fields = [{"name": "path", "type": "string"}, {"name": "content", "type": "bytes"}]
    schema = fastavro.parse_schema({"type": "record", "name": "Recording", "fields": fields})
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        rows = [{"path": f"{number}.wav", "content": bytes(1 << 20)} for number in range(4)]
        fastavro.writer(file, schema, rows, codec=codec, sync_interval=8 << 20)
    assert [1 << 20] * 4 == [each.size for each in listed(path)]
    monkeypatch.setattr(avro, "MOST_READ_BYTES", 2 << 20)
    with pytest.raises(BadContainer, match="more than the 2 MiB"):
        listed(path)


def test_a_codec_of_avro_without_a_bound_is_not_read(tmp_path: Path) -> None:
    """Even where a package for it is installed; the text names the codecs that are read."""
    path = make_avro(tmp_path / "a.avro", {"a.wav": b"x"})
    path.write_bytes(path.read_bytes().replace(b"\x0edeflate", b"\x06lz4", 1))
    with pytest.raises(BadContainer, match="the codec lz4: expected one of null, deflate, "):
        listed(path)


def make_typed_avro(
    path: Path, kinds: dict[str, Any], row: dict[str, Any] | None = None, codec: str = "null"
) -> Path:
    """An Avro file of one row or none."""
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "Recording", "fields": fields}
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), [row] if row else [], codec=codec)
    return path


def test_a_logical_type_of_avro_is_neither_name_nor_content(tmp_path: Path) -> None:
    """The library answers other objects than text and bytes for it."""
    text = {"type": "string", "logicalType": "uuid"}
    path = make_typed_avro(
        tmp_path / "a.avro",
        {"key": text, "content": "bytes"},
        {"key": uuid.UUID(int=1), "content": b"x"},
    )
    assert ["000000000"] == [each.name for each in listed(path)]
    number = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    path = make_typed_avro(
        tmp_path / "b.avro",
        {"key": "string", "content": number},
        {"key": "a", "content": decimal.Decimal("1.25")},
    )
    with pytest.raises(NoRecordings, match="columns of bytes: none"):
        listed(path)


OTHER_TYPES = {
    "numbers": {"type": "array", "items": ["null", "long"]},
    "tags": {"type": "map", "values": {"type": "array", "items": "string"}},
    "place": {
        "type": "record",
        "name": "Place",
        "fields": [
            {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 3}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        ],
    },
    "again": ["null", "Place"],
    "nothing": "null",
}
PLACE = {"hash": b"abc", "kind": "B"}


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_other_columns_are_passed_over(tmp_path: Path, codec: str) -> None:
    """Whatever their types, before, between and behind the two that are read."""
    other = {
        "numbers": [1, None, 3],
        "tags": {"a": ["b"], "c": []},
        "place": PLACE,
        "again": PLACE,
        "nothing": None,
    }
    kinds = OTHER_TYPES | {"path": "string", "content": ["null", "bytes"], "last": "double"}
    row = other | {"path": "a.wav", "content": b"call", "last": 0.5}
    path = make_typed_avro(tmp_path / "a.avro", kinds, row, codec)
    assert {"a.wav": b"call"} == unpacked(path, {"a.wav": 4})


EMPTY = {"type": "record", "name": "Empty", "fields": [{"name": "x", "type": "null"}]}


def laughs(depth: int) -> Any:
    """A record of two records, each of two, and so on; none has a byte."""
    kind: Any = "null"
    for number in range(depth):
        first = {"name": "a", "type": kind}
        again = kind if isinstance(kind, str) else kind["name"]
        fields = [first, {"name": "b", "type": again}]
        kind = {"type": "record", "name": f"R{number}", "fields": fields}
    return kind


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ({"type": "array", "items": "null"}, "without bytes"),
        ({"type": "array", "items": EMPTY}, "without bytes"),
        ({"type": "map", "values": {"type": "array", "items": "null"}}, "without bytes"),
        ({"type": "array", "items": {"type": "fixed", "name": "No", "size": 0}}, "without bytes"),
        (
            {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]},
            "the type N, which contains itself",
        ),
        (laughs(40), r"rows of \d+ values"),
    ],
)
def test_a_type_without_end_is_refused(tmp_path: Path, kind: Any, found: str) -> None:
    """A few bytes would be values without end, or a recursion that ends the process."""
    path = make_typed_avro(tmp_path / "a.avro", {"x": kind, "path": "string", "content": "bytes"})
    with pytest.raises(BadContainer, match=found):
        listed(path)
