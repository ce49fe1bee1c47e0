"""The base of all records of a run: small JSON files, each published once and whole."""

import json
import re
from typing import Annotated, TypeVar

from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.redaction import redact_values
from audioloom_storage import Location, NotFound, TooLarge, read_bytes
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from audioloom_yarn_launcher.errors import BadRecord
from audioloom_yarn_launcher.runs.layout import entries

VERSION = "1.0"
MOST_BYTES = 64 << 20

Record = TypeVar("Record", bound="RecordBase")


def _known(version: str) -> str:
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        raise ValueError(f"{version} needs the release of audioloom-yarn-launcher that wrote it")
    return version


class RecordBase(BaseModel):
    """The base of all records; unknown fields of a later minor version are ignored."""

    model_config = ConfigDict(frozen=True)

    version: Annotated[str, AfterValidator(_known)] = VERSION


def read_record(where: Location, model: type[Record]) -> Record | None:
    """Read a record, None without a file; BadRecord if it cannot be read."""
    try:
        data = read_bytes(where, limit=MOST_BYTES)
    except NotFound:
        return None
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadRecord(
            "a record of the run cannot be read",
            where=where,
            expected=f"version {VERSION} of {model.__name__.lower()}",
            found=": ".join([*map(str, first["loc"]), first["msg"]]),
        ) from error


def file_names(folder: Location, pattern: re.Pattern[str]) -> list[str]:
    """The first group of each name in a folder that matches; none if it does not exist."""
    matches = (pattern.fullmatch(entry.location.name) for entry in entries(folder))
    return [match[1] for match in matches if match is not None]


def record_bytes(record: RecordBase) -> bytes:
    """Serialise a record, with secrets in workers' output and in causes masked."""
    return to_json(redact_values(record.model_dump(mode="json")), indent=2) + b"\n"


def check_manifest(where: Location) -> Opened[TrainingRunManifest] | None:
    """Refuse a damaged manifest before its run counts as done; return a training run's.

    A JSON object without kind and version is another program's: it is accepted, and None.

    Raises:
        ManifestError: it is damaged, or not a training run's.
    """
    try:
        value = json.loads(read_bytes(where, limit=MOST_BYTES))
    except (ValueError, RecursionError, TooLarge):
        value = None
    if not isinstance(value, dict) or {"kind", "version"} & value.keys():
        return read_manifest(where, "training-run")
    return None
