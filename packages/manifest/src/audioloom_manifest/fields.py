"""The field types that manifests are made of, each bounded: manifests are data from outside."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from audioloom_storage import locate
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

NAME = r"^[a-z0-9][a-z0-9._-]{0,99}$"
SHA256 = r"^[0-9a-f]{64}$"
MOST_PATH_BYTES = 4096


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


def check_relative_path(text: str) -> str:
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


def _input(text: str) -> str:
    return _uri(text) if "://" in text else check_relative_path(text)


def _uri(text: str) -> str:
    if "://" not in text:
        raise ValueError("a URI, such as hdfs://namenode/archive, was expected")
    locate(text)  # whose errors are ValueErrors, and name the schemes
    return text


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone, as in 2026-01-31T12:00:00Z")
    return moment.astimezone(UTC)


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


Name = Annotated[str, Field(pattern=NAME)]
Sha256 = Annotated[str, Field(pattern=SHA256, description="SHA-256 in lower-case hex")]
Crc32c = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$", description="CRC-32C in lower-case hex")]
Identity = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
RelativePath = Annotated[
    str, Field(min_length=1, max_length=MOST_PATH_BYTES), AfterValidator(check_relative_path)
]
Text = Annotated[str, Field(max_length=4096)]
InputPlace = Annotated[Text, AfterValidator(_input)]
Uri = Annotated[Text, AfterValidator(_uri)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Positive = Annotated[int, Field(ge=1, le=2**63 - 1)]
Moment = Annotated[datetime, AfterValidator(_utc), PlainSerializer(_rfc3339, return_type=str)]
LabelCounts = Annotated[dict[Text, Count], Field(max_length=100_000)]
Parameters = dict[Word, str | int | float | bool | None]
