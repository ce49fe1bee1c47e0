"""Read Avro object container files of recordings by fastavro, as far as a file may be trusted.

fastavro unpacks a block whatever it becomes, and its compiled code recurses as deep as a value of a
type that contains itself. So blocks are unpacked here (`codecs`), such types are refused, and only
the columns of the recordings are read: of the other columns no value is made.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, NamedTuple

from audioloom_featurizer.containers.codecs import AVRO
from audioloom_featurizer.containers.member import MOST_READ_BYTES, BadContainer, CarefulFile
from audioloom_featurizer.containers.rows import Row, columns

_SYNC_BYTES: Final = 16
_MOST_VALUES: Final = 10_000
_SIZES: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
    "enum": 1,
    "map": 1,
}


def avro_rows(file: BinaryIO) -> Iterator[Row]:
    """Read the rows of an Avro file."""
    from fastavro import reader  # noqa: PLC0415 - for this format alone

    file.seek(0)
    careful = CarefulFile(file)
    header: Any = reader(careful)  # type: ignore[arg-type]
    schema: Any = header.writer_schema
    content, name = columns({each["name"]: _kind(each["type"]) for each in schema["fields"]})
    if header.codec not in AVRO:
        raise BadContainer(f"the codec {header.codec}: expected one of {', '.join(AVRO)}")
    if (most := _Types().weight(schema).values) > _MOST_VALUES:
        raise BadContainer(f"rows of {most} values")
    fields = [each for each in schema["fields"] if each["name"] in {content, name}]
    records = _records(careful, schema, {**schema, "fields": fields}, header.codec)
    for row in records:
        yield None if name is None else row[name], row[content]


def _records(file: Any, schema: Any, wanted: Any, codec: str) -> Iterator[Mapping[str, Any]]:
    """Read the fields of *wanted* of each record behind the header."""
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 - as above

    number, block = parse_schema({"type": "long"}), parse_schema({"type": "bytes"})
    whole, part = parse_schema(schema), parse_schema(wanted)  # else each record parses them
    file.seek(-_SYNC_BYTES, 1)
    sync = file.read(_SYNC_BYTES)  # the end of the header, and of each block
    while True:
        try:
            count: Any = schemaless_reader(file, number, None)
        except EOFError:
            return
        data: Any = schemaless_reader(file, block, None)
        rows = io.BytesIO(AVRO[codec](data, MOST_READ_BYTES))
        for _ in range(count):
            row: Any = schemaless_reader(rows, whole, part)
            yield row
        if file.read(_SYNC_BYTES) != sync:
            raise BadContainer(f"no end of a block before byte {file.tell()}")


class _Weight(NamedTuple):
    """The fewest bytes and the most values of one value, without those in arrays and maps."""

    size: int
    values: int


class _Types:
    """The types of a schema; a value without bytes may be there endlessly often in an array."""

    def __init__(self) -> None:
        self._named: dict[str, _Weight | None] = {}

    def weight(self, kind: Any) -> _Weight:
        """Return the weight of a type.

        Raises:
            BadContainer: values of the type may be without end.
        """
        if isinstance(kind, list):
            branches = [self.weight(each) for each in kind]
            smallest = min(each.size for each in branches)
            return _Weight(1 + smallest, 1 + max(each.values for each in branches))
        if isinstance(kind, str):
            found = self._named.get(kind, _Weight(_SIZES.get(kind, 1), 1))
            if found is None:
                raise BadContainer(f"the type {kind}, which contains itself")
            return found
        if kind["type"] in ("record", "error"):
            return self._record(kind)
        if kind["type"] == "fixed":
            self._named[kind["name"]] = _Weight(kind["size"], 1)
            return _Weight(kind["size"], 1)
        if kind["type"] == "array" and not self.weight(kind["items"]).size:
            raise BadContainer("an array of values without bytes")
        if kind["type"] == "map":
            self.weight(kind["values"])
        return _Weight(_SIZES.get(kind["type"], 1), 1)

    def _record(self, kind: Any) -> _Weight:
        self._named[kind["name"]] = None
        fields = [self.weight(field["type"]) for field in kind["fields"]]
        found = _Weight(sum(each.size for each in fields), 1 + sum(each.values for each in fields))
        self._named[kind["name"]] = found
        return found


def _kind(kind: Any) -> str:
    kinds = kind if isinstance(kind, list) else [kind]
    names = {_plain_type(each) for each in kinds} - {"null"}
    return {frozenset({"bytes"}): "bytes", frozenset({"string"}): "text"}.get(
        frozenset(names), "other"
    )


def _plain_type(kind: Any) -> str:
    if isinstance(kind, dict):
        # The library makes numbers, dates and UUIDs of logical types.
        return "other" if "logicalType" in kind else str(kind["type"])
    return str(kind)
