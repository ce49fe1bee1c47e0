import pytest
from audioloom_quickstart.examples import bytes_feature, records


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def feature(name: str, kind: int, value: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, field(kind, value)))


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(8, "little") + b"size" + payload + b"data"


EXAMPLE = field(
    1,
    feature("channel", 3, b"\x0a\x01\x00")
    + feature("group", 1, field(1, b"digits/0"))
    + feature("label", 1, field(1, b"fr")),
)


def test_truncated_file_is_refused() -> None:
    """A file that ends within a record is no file with one record fewer."""
    data = framed(b"one") + framed(b"two")
    with pytest.raises(ValueError, match="end of the file"):
        list(records(data[:-1]))


def test_missing_feature_is_named() -> None:
    """A record without the feature is an error, not an empty name."""
    with pytest.raises(KeyError, match="speaker"):
        bytes_feature(EXAMPLE, "speaker")


def test_feature_of_another_kind_is_refused() -> None:
    """Numbers are not read as bytes."""
    with pytest.raises(ValueError, match="channel"):
        bytes_feature(EXAMPLE, "channel")


def test_bytes_that_are_no_example_are_refused() -> None:
    """Whatever else a record holds is told, not passed over."""
    with pytest.raises(ValueError, match="wire type 5"):
        bytes_feature(b"\x0d1234", "group")


def test_records_and_their_groups() -> None:
    """Every payload in order, and the feature asked for among others."""
    data = framed(EXAMPLE) + framed(b"")
    assert [EXAMPLE, b""] == list(records(data))
    assert b"digits/0" == bytes_feature(EXAMPLE, "group")
