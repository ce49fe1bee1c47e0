"""Which files are containers, and who reads each format."""

from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from audioloom_featurizer.containers.avro import avro_rows
from audioloom_featurizer.containers.member import Container
from audioloom_featurizer.containers.parquet import parquet_rows
from audioloom_featurizer.containers.rows import Rows
from audioloom_featurizer.containers.sequence_file import SequenceFile
from audioloom_featurizer.containers.tar import Tar
from audioloom_featurizer.containers.zip import Zip

_FORMATS: dict[str, Callable[[BinaryIO, int], Container]] = {
    ".tar": partial(Tar, packed=False),
    ".tar.gz": partial(Tar, packed=True),
    ".tgz": partial(Tar, packed=True),
    ".zip": Zip,
    ".seq": SequenceFile,
    ".avro": partial(Rows, avro_rows, "Avro file"),
    ".parquet": partial(Rows, parquet_rows, "Parquet file"),
}
SUFFIXES = tuple(_FORMATS)

WITHOUT_SUFFIXES = (".seq", ".avro", ".parquet")
"""Members are recordings whatever their names: keys and row numbers have no suffix."""

_ANY_ORDER = (".tar", ".zip")


def container_suffix(path: str) -> str | None:
    """The suffix that makes a file a container; None for any other file."""
    lower = path.lower()
    return next((suffix for suffix in SUFFIXES if lower.endswith(suffix)), None)


def open_container(path: str, file: BinaryIO, size: int) -> Container:
    """Open a container by its suffix; raise `BadContainer` if its beginning is damaged."""
    return _FORMATS[container_suffix(path) or ""](file, size)


def read_in_sequence(path: str, offset: int | None) -> bool:
    """Whether a member can only be read with all members before it."""
    return offset is None and container_suffix(path) not in _ANY_ORDER
