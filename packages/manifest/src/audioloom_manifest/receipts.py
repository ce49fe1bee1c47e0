"""Work units and their receipts: resume that does not depend on Spark's partitions.

A stage writes what a unit yields into files named by their content, then publishes one receipt.
A rerun does only the units without one. Of two tries at a unit the first receipt stands; what the
other wrote is named by nothing, and `gc` finds it.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    create,
    list_folder,
    make_folder,
    read_bytes,
    remove,
)
from pydantic import Field, ValidationError

from audioloom_manifest.canonical import canonical_bytes, parse_json
from audioloom_manifest.envelope import FileEntry, Name, Part, Word
from audioloom_manifest.errors import MalformedManifest, ManifestError
from audioloom_manifest.file_list import check_file, describe
from audioloom_manifest.late_files import Patience

RECEIPTS = "receipts"
MOST_RECEIPT_BYTES = 4 << 20


class Receipt(Part):
    """One finished unit: its files, and the counts that the stats are summed from."""

    unit: Name
    attempt: Word
    files: tuple[FileEntry, ...]
    counts: dict[str, Any] = Field(default_factory=dict)


def publish_receipt(
    folder: Location, receipt: Receipt, finish: Callable[[], None] = lambda: None
) -> Receipt:
    """Publish the receipt of a unit, and answer the one that stands: ours, or an earlier one.

    An earlier receipt whose files are gone is taken away first: it says what is no longer true.
    *finish* waits for files of the unit that are not there yet; no receipt appears before.
    """
    make_folder(folder / RECEIPTS)
    where = folder / RECEIPTS / f"{receipt.unit}.json"
    data = canonical_bytes(receipt.model_dump(mode="json", exclude_none=True))
    try:
        _publish(where, data, finish)
    except AlreadyExists:
        standing = _read(where)
        if _holds(folder, standing):
            return standing
        remove(where, within=folder)
        _publish(where, data, finish)
    return receipt


def _publish(where: Location, data: bytes, finish: Callable[[], None]) -> None:
    with create(where) as file:
        file.write(data)
        file.close()  # HDFS may take half a second for it, and the files of the unit need as long
        finish()


def read_receipts(folder: Location, units: Iterable[str]) -> Mapping[str, Receipt]:
    """The receipts of those units that are finished and whose files are there, by unit.

    A receipt whose files are gone or of another size does not count: the unit is done again.
    """
    wanted = {f"{unit}.json" for unit in units}
    try:
        places = [entry.location for entry in list_folder(folder / RECEIPTS)]
    except NotFound:
        return {}
    receipts = [_read(place) for place in places if place.name in wanted]
    return {receipt.unit: receipt for receipt in receipts if _holds(folder, receipt)}


def remove_receipt(folder: Location, unit: str) -> None:
    """Let a rerun do a finished unit again.

    Raises:
        StorageError: the storage refused, or does not answer.
    """
    with suppress(NotFound):
        remove(folder / RECEIPTS / f"{unit}.json", within=folder)


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
