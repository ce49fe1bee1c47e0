"""What every manifest has, whatever its kind, and the types of fields.

The types are bounded, because manifests are data from outside.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from audioloom_storage import locate
from audioloom_storage.location import SCHEMES
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"
MOST_PATH_BYTES = 4096
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]"
    r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class Part(BaseModel):
    """A piece of a manifest: immutable, no field that the version does not have.

    Every field is in the file, but one that a later minor version added (`since`): while it has its
    default, which means "as before", it is left out, so that old runs keep names and identities.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )

    def to_json(self) -> dict[str, Any]:
        """The piece as a JSON object."""
        return self.model_dump(mode="json")


def since(minor: int, default: Any = None) -> Any:
    """The annotation of a field that minor version 1.*minor* of a kind added, with its default."""
    extra: dict[str, Any] = {"since": f"1.{minor}"}
    return Field(json_schema_extra=extra, exclude_if=lambda value: value == default)


def _relative_path(text: str) -> str:
    """Refuse a path that could leave the folder that it is relative to.

    The text is taken as it is: nothing is decoded or normalised first, so nothing can turn into
    an escape afterwards.
    """
    reason = None
    if not text or len(text.encode()) > MOST_PATH_BYTES:
        reason = f"1 to {MOST_PATH_BYTES} bytes"
    elif text.startswith("/") or re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", text):
        reason = "a relative path"
    elif "\\" in text or any(ord(character) < 32 or ord(character) == 127 for character in text):  # noqa: PLR2004
        reason = "no backslash and no control character"
    elif any(part in ("", ".", "..") for part in text.split("/")):
        reason = "no empty part, no '.' and no '..'"
    if reason:
        raise ValueError(f"a path inside the manifest's folder has {reason}; found {text[:200]!r}")
    return text


def _uri(text: str) -> str:
    scheme, separator, _ = text.partition("://")
    if not separator:
        raise ValueError("a URI, such as hdfs://namenode/archive, was expected")
    if scheme.lower() not in SCHEMES:  # `locate` also takes paths, and what users call a scheme
        raise ValueError(f"a URI with one of the schemes {', '.join(SCHEMES)} was expected")
    locate(text)  # whose errors are ValueErrors
    return text


def _moment(value: Any) -> Any:
    """Parse the text of a time: pydantic takes forms that are not of RFC 3339 as well."""
    if not isinstance(value, str):
        return value
    if _RFC_3339.fullmatch(value) is None:
        raise ValueError("a time of RFC 3339 was expected, as in 2026-01-31T12:00:00Z")
    return datetime.fromisoformat(value.upper())


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone, as in 2026-01-31T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time of the years 1 to 9999 in UTC was expected") from None


def _in_json(values: dict[str, Any]) -> dict[str, Any]:
    """Refuse what the strict JSON of manifests cannot hold."""
    for value in values.values():
        if isinstance(value, str):
            value.encode()  # whose error is a ValueError
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("an integer of 64 bits was expected")
    return values


Name = Annotated[str, Field(pattern=NAME)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 in lower-case hex")]
Crc32c = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$", description="CRC-32C in lower-case hex")]
Identity = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
RelativePath = Annotated[
    str, Field(min_length=1, max_length=MOST_PATH_BYTES), AfterValidator(_relative_path)
]
Text = Annotated[str, Field(max_length=4096)]
InputPlace = Annotated[
    Text, AfterValidator(lambda text: _uri(text) if "://" in text else _relative_path(text))
]
Uri = Annotated[Text, AfterValidator(_uri)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Positive = Annotated[int, Field(ge=1, le=2**63 - 1)]
Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    AfterValidator(_utc),
    PlainSerializer(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ"), return_type=str),
]
LabelCounts = Annotated[dict[Text, Count], Field(max_length=100_000)]
Seconds = Annotated[float, Field(ge=0, le=1e10)]
Quantity = Annotated[float, Field(ge=0, le=1e18)]
Parameters = Annotated[dict[Word, str | int | float | bool | None], AfterValidator(_in_json)]
Kind = Literal["recordings", "features", "shards", "training-run"]

DERIVED: dict[Kind, frozenset[str]] = {
    "training-run": frozenset({"events", "keras", "report", "saved-model"}),
}
"""Roles of files that show the result again for people or other programs: not in the identity."""

MAJOR = 1
VERSION = r"^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$"
MINORS: dict[Kind, int] = {"recordings": 1, "features": 1, "shards": 1, "training-run": 1}
"""The newest minor version of each kind: the one that is written."""
FILES_VERSION = "1.1"
"""Of the lines of a files list, whichever kind it belongs to."""

FILES_NAME = r"^files-[0-9a-f]{12}\.jsonl$"


def version_of(kind: Kind) -> str:
    """The version in which manifests of a kind are written."""
    return f"{MAJOR}.{MINORS[kind]}"


def files_name(sha256: str) -> str:
    """The name of the list of files with this digest."""
    return f"files-{sha256[:12]}.jsonl"


class Producer(Part):
    """The program that wrote the manifest."""

    stage: Word
    version: Word


class InputRef(Part):
    """A manifest that was read to make this one."""

    kind: Kind
    name: Name
    location: InputPlace = Field(
        description="the folder: relative to the root when under the same root, else a URI"
    )
    identity: Identity
    sha256: Sha256 = Field(description="of the manifest's bytes as they were read")


class FilesRef(Part):
    """The list of data files beside the manifest."""

    name: Annotated[str, Field(pattern=FILES_NAME)]
    sha256: Sha256
    count: Count
    bytes: Count = Field(description="size of the list itself")

    @model_validator(mode="after")
    def _named_by_digest(self) -> "FilesRef":
        if self.name != (name := files_name(self.sha256)):
            raise ValueError(f"the list of files with this SHA-256 is called {name}")
        return self


class Uncompressed(Part):
    """The content of a compressed file: a reader decompresses no more than this."""

    bytes: Count
    sha256: Sha256
    crc32c: Annotated[Crc32c | None, since(1)] = None


class FileEntry(Part):
    """One data file: one line of the files list. Fields that do not apply are left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    path: RelativePath
    bytes: Count
    sha256: Sha256
    role: Word
    records: Count | None = None
    split: Name | None = None
    shard: Count | None = None
    labels: LabelCounts | None = Field(default=None, description="records of each label")
    uncompressed: Uncompressed | None = Field(
        default=None,
        description="of a file that is compressed as a whole; bytes and sha256 are as it lies",
    )
    crc32c: Annotated[Crc32c | None, since(1)] = None


class Cost(Part):
    """How much a run was predicted to take of something, and how much it took."""

    start: Quantity = Field(description="by constants: what a run takes whatever its size")
    work: Quantity = Field(description="by constants: what grows with its input")
    runs: Count = Field(description="earlier runs that both were fitted to; 0: constants alone")
    least: Quantity = Field(description="the range holds about four runs of five")
    likely: Quantity
    most: Quantity
    actual: Quantity | None = Field(default=None, description="null: it was not measured")

    @model_validator(mode="after")
    def _ordered(self) -> "Cost":
        if not self.least <= self.likely <= self.most:
            raise ValueError(f"{self.least} to {self.most} is no range around {self.likely}")
        return self


class Execution(Part):
    """How the run was made. Nothing here changes the result, so nothing here is in the identity."""

    attempt: Word = Field(description="unique for each try: tells whether a commit was ours")
    started: Moment
    finished: Moment
    host: Text = ""
    versions: dict[Word, Text] = Field(default_factory=dict)
    settings: Parameters = Field(default_factory=dict)
    counts: dict[Word, Count] = Field(
        default_factory=dict,
        description="what this try did: units_placed, and of these units_local, where blocks lie",
    )
    seconds: Annotated[dict[Word, Seconds], since(1, {})] = Field(
        default_factory=dict,
        description="wall time of the run by class, across attempts; empty if it was not measured",
    )
    cost: Annotated[dict[Word, Cost], since(1, {})] = Field(
        default_factory=dict,
        description="what the run took, beside what was predicted: seconds, memory_bytes, …",
    )


class Recipe(Part):
    """The settings that change the result, plus the stage's algorithm revision."""

    algorithm: Positive


class Envelope(Part):
    """The fields that all kinds share; each kind adds its recipe and stats."""

    kind: Kind
    version: Annotated[str, Field(pattern=VERSION)]
    name: Name
    identity: Identity
    created: Moment
    producer: Producer
    inputs: tuple[InputRef, ...] = Field(max_length=10_000)
    recipe: Recipe
    execution: Execution
    files: FilesRef
    stats: Part
