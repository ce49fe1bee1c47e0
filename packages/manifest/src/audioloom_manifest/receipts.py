"""Units of work and their receipts, which make a rerun independent of Spark's partitions.

A stage writes a unit's results to files named by their content, then publishes one receipt. A
rerun skips units with a receipt. Of two attempts at a unit the first receipt stands. `gc` finds
the files of the other, because nothing names them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    list_folder,
    make_folder,
    publish,
    read_bytes,
    remove,
)
from pydantic import Field, ValidationError

from audioloom_manifest.canonical import canonical_bytes, parse_json
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.errors import MalformedManifest, ManifestError
from audioloom_manifest.fields import Name, Part, Word
from audioloom_manifest.file_list import check_file, describe
from audioloom_manifest.late_files import Patience

RECEIPTS = "receipts"
MOST_RECEIPT_BYTES = 4 << 20


class Receipt(Part):
    """One finished unit: its files, and the counts that add up to the stats."""

    unit: Name
    attempt: Word
    files: tuple[FileEntry, ...]
    counts: dict[str, Any] = Field(default_factory=dict)


def publish_receipt(folder: Location, receipt: Receipt) -> Receipt:
    """Publish the receipt of a unit, and return the valid receipt: ours or an earlier one.

    An earlier receipt whose files are gone is no longer true, and is removed first.
    """
    make_folder(folder / RECEIPTS)
    where = folder / RECEIPTS / f"{receipt.unit}.json"
    data = canonical_bytes(receipt.model_dump(mode="json", exclude_none=True))
    try:
        publish(where, data)
    except AlreadyExists:
        standing = _read(where)
        if _holds(folder, standing):
            return standing
        remove(where, within=folder)
        publish(where, data)
    return receipt


def read_receipts(folder: Location, units: Iterable[str]) -> Mapping[str, Receipt]:
    """Read the receipts of finished units whose files exist, by unit.

    A receipt whose files are gone or have another size is ignored, and the unit is done again.
    """
    wanted = {f"{unit}.json" for unit in units}
    found: dict[str, Receipt] = {}
    try:
        entries = list(list_folder(folder / RECEIPTS))
    except NotFound:
        return found
    for entry in entries:
        if entry.location.name not in wanted:
            continue
        receipt = _read(entry.location)
        if _holds(folder, receipt):
            found[receipt.unit] = receipt
    return found


def _holds(folder: Location, receipt: Receipt) -> bool:
    try:
        for file in receipt.files:
            check_file(folder, file, content=False, patience=Patience(0))
    except ManifestError:
        return False
    return True


def _read(where: Location) -> Receipt:
    value = parse_json(read_bytes(where, limit=MOST_RECEIPT_BYTES), where=where)
    try:
        receipt = Receipt.model_validate_json(canonical_bytes(value))
    except ValidationError as error:
        raise MalformedManifest(
            where=where, expected="the receipt of a unit", found=describe(error)
        ) from None
    if where.name != f"{receipt.unit}.json":
        raise MalformedManifest(
            where=where, expected=f"the receipt of unit {where.name}", found=receipt.unit
        )
    return receipt
