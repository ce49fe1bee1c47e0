"""Extract one unit to features files and a ledger file, then write its receipt."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from itertools import islice
from typing import Any

import pyarrow as pa
from audioloom_audio import ExtractionSettings
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import Feature
from audioloom_manifest.parquet import (
    LEDGER,
    features_rows_per_group,
    features_schema,
    features_writer,
    table_writer,
)
from audioloom_manifest.receipts import Receipt, publish_receipt
from audioloom_storage import Location

from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.extraction.partition import Unit, receipt_name, unit_id
from audioloom_featurizer.extraction.recording import (
    Extracted,
    Refused,
    extract_recording,
    refused,
    translated_errors,
)
from audioloom_featurizer.inventory.parquet import Row, read_rows
from audioloom_featurizer.inventory.schema import in_groups
from audioloom_featurizer.sandbox.messages import CrashHistory, Heartbeat
from audioloom_featurizer.scratch import publish_as, scratch_file

FEATURES, LEDGER_ROLE = "features", "ledger"

MOST_FILE_BYTES = 3 << 29
"""A features file of this size is full after the recording that fills it.

Three halves of a GiB: a unit that writes about twice or four times what was assumed, as with 8 kHz,
leaves no small rest for a file of its own.
"""


@dataclass(frozen=True)
class UnitContext:
    """Facts common to all units of a run; Spark sends them to the tasks.

    Attributes:
        folder: the run's folder.
        source: the folder that the inventory's paths are relative to.
        attempt: the id of the attempt that processes the units.
        basis: digest of recipe and inputs, for the names of receipts.
        whole: whether digests of recordings cover all of their bytes.
    """

    folder: Location
    inventory: Location
    source: Location
    feature: Feature
    settings: ExtractionSettings
    attempt: str
    basis: str
    whole: bool = True


def extract_unit(
    context: UnitContext,
    unit: Unit,
    history: CrashHistory | None = None,
    heartbeat: Heartbeat | None = None,
) -> Receipt:
    """Extract a unit and return its valid receipt, which a faster attempt may have written.

    Raises:
        BadInventory: the units were cut from another inventory.
        MissingLibrary: this machine cannot decode a format, or lacks the engine.
        StorageError: the output cannot be written.
    """
    listed = read_rows(context.inventory, unit.first, unit.recordings)
    if unit_id(listed) != unit.id:
        raise BadInventory(
            where=context.inventory,
            expected=f"the rows of unit {unit.id} from row {unit.first} on",
            found="other rows",
            hint="The inventory was changed after its commit: scan again.",
        )
    rows = listed.to_pylist()
    outcomes = _outcomes(context, rows, history or CrashHistory(), heartbeat or Heartbeat())
    with closing(outcomes):  # type: ignore[type-var]
        files, counts = _write(context, unit, outcomes)
    name = receipt_name(unit, context.basis)
    receipt = Receipt(unit=name, attempt=context.attempt, files=files, counts=counts)
    return publish_receipt(context.folder, receipt)


def _outcomes(
    context: UnitContext, rows: list[Row], history: CrashHistory, heartbeat: Heartbeat
) -> Iterator[Extracted | Refused]:
    """Yield the outcome of each recording; it is valid until the next outcome is requested."""
    with closing(Members(context.source, rows, heartbeat)) as members:
        if history.suspect is not None:
            with _extracted(context, members, history.suspect, rows[history.suspect]):
                pass
        unread = members.refused_unread(history.blamed)
        for number, row in enumerate(rows):
            if number in unread:
                yield refused(row, unread[number])
            else:
                with _extracted(context, members, number, row) as outcome:
                    yield outcome


@contextmanager
def _extracted(
    context: UnitContext, members: Members, number: int, row: Row
) -> Iterator[Extracted | Refused]:
    members.heartbeat.start(number)
    extracting = extract_recording(members, row, context.settings, whole=context.whole)
    with translated_errors(), extracting as outcome:
        members.heartbeat.finish()
        yield outcome


def _write(
    context: UnitContext, unit: Unit, outcomes: Iterator[Extracted | Refused]
) -> tuple[tuple[FileEntry, ...], dict[str, Any]]:
    """Write the outcomes to files; return these and the counts for the receipt."""
    feature = context.feature
    schema, most = features_schema(feature), features_rows_per_group(feature)
    ledger: list[Row] = []
    seconds: list[float] = []
    windows: Counter[str | None] = Counter()  # by label
    flagged = 0
    full = True

    def batches(file: BufferedRandom) -> Iterator[pa.RecordBatch]:
        """The rows for one file, which is full after the recording that fills it."""
        nonlocal flagged, full
        for outcome in outcomes:
            if isinstance(outcome, Refused):
                ledger.append(outcome.row)
                continue
            seconds.append(outcome.seconds)
            flagged += outcome.flagged
            windows.update(row["label"] for row in outcome.rows)
            pairs = zip(outcome.rows, outcome.values(), strict=True)
            rows = ({**row, feature.name: value} for row, value in pairs)
            while some := list(islice(rows, most)):
                yield pa.RecordBatch.from_pylist(some, schema=schema)
            if full := file.tell() >= MOST_FILE_BYTES:
                return

    files: list[FileEntry] = []
    while full:
        before, full = windows.total(), False
        with scratch_file() as file:
            with features_writer(file, feature) as writer:
                for group in in_groups(batches(file), most):
                    writer.write_table(group)
            start = f"features/features-{unit.id}"
            if records := windows.total() - before:
                entry = publish_as(file, context.folder, start, role=FEATURES, records=records)
                files.append(entry)
    if ledger:
        with scratch_file() as file:
            with table_writer(file, LEDGER) as writer:
                writer.write_table(pa.Table.from_pylist(ledger, schema=LEDGER))
            start, records = f"ledger/ledger-{unit.id}", len(ledger)
            files.append(publish_as(file, context.folder, start, role=LEDGER_ROLE, records=records))
    return tuple(files), {
        "extracted": len(seconds),
        "refused": len(ledger),
        "flagged": flagged,
        "windows": windows.total(),
        "audio_seconds": math.fsum(seconds),
        "labels": {label: count for label, count in windows.items() if label is not None},
        "refusals": dict(Counter(row["class"] for row in ledger)),
        "examples": {row["class"]: [row["path"], row["message"]] for row in reversed(ledger)},
    }
