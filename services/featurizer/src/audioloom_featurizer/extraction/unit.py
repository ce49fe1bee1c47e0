"""Extract one unit to a features file and a ledger file, then write its receipt."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_audio import BadSettings, MfccSettings, MissingDecoder
from audioloom_manifest import Feature, FileEntry, Receipt, publish_receipt
from audioloom_manifest.parquet import (
    LEDGER,
    features_rows_per_group,
    features_schema,
    features_writer,
    table_writer,
)
from audioloom_storage import Location

from audioloom_featurizer.errors import BadUnits, InvalidOption, MissingLibrary
from audioloom_featurizer.extraction.partition import Unit, receipt_name, unit_id
from audioloom_featurizer.extraction.recording import (
    Extracted,
    Refused,
    extract_recording,
    refused,
)
from audioloom_featurizer.inventory.parquet import Row, read_rows
from audioloom_featurizer.io.content_addressed import publish_as
from audioloom_featurizer.io.scratch import scratch_file
from audioloom_featurizer.sandbox.heartbeat import Heartbeat
from audioloom_featurizer.sandbox.outcome import CrashHistory

FEATURES, LEDGER_ROLE = "features", "ledger"


@dataclass(frozen=True)
class UnitContext:
    """Facts common to all units of a run; Spark sends them to the tasks.

    Attributes:
        folder: the run's folder.
        inventory: the inventory file.
        source: the folder that the inventory's paths are relative to.
        feature: the feature of the run's recipe.
        settings: the settings of the extraction.
        attempt: the id of the attempt that processes the units.
        basis: digest of recipe and inputs, for the names of receipts.
    """

    folder: Location
    inventory: Location
    source: Location
    feature: Feature
    settings: MfccSettings
    attempt: str
    basis: str


@dataclass
class _UnitCounts:
    extracted: int = 0
    flagged: int = 0
    windows: int = 0
    seconds: list[float] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, outcome: Extracted | Refused) -> None:
        if isinstance(outcome, Refused):
            self.refusals[outcome.kind] += 1
            example = [outcome.row["path"], outcome.row["message"]]
            self.examples.setdefault(outcome.kind, example)
            return
        self.extracted += 1
        self.flagged += outcome.flagged
        self.windows += len(outcome.rows)
        self.seconds.append(outcome.seconds)
        self.labels.update(row["label"] for row in outcome.rows if row["label"] is not None)

    def to_json(self) -> dict[str, Any]:
        return {
            "extracted": self.extracted,
            "refused": self.refusals.total(),
            "flagged": self.flagged,
            "windows": self.windows,
            "audio_seconds": math.fsum(self.seconds),
            "labels": dict(self.labels),
            "refusals": dict(self.refusals),
            "examples": self.examples,
        }


class _FeaturesFile:
    """Collects windows into row groups of the contract's size."""

    def __init__(self, sink: BufferedIOBase, feature: Feature) -> None:
        self._schema = features_schema(feature)
        self._name = feature.name
        self._most = features_rows_per_group(feature)
        self._rows: list[Row] = []
        self._writer: pq.ParquetWriter = features_writer(sink, feature)

    def add(self, extracted: Extracted) -> None:
        for row, value in zip(extracted.rows, extracted.values(), strict=True):
            self._rows.append({**row, self._name: value})
            if len(self._rows) == self._most:
                self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()


def extract_unit(
    context: UnitContext,
    unit: Unit,
    history: CrashHistory | None = None,
    heartbeat: Heartbeat | None = None,
) -> Receipt:
    """Extract a unit and return its valid receipt, which a faster attempt may have written.

    Args:
        context: the facts common to all units.
        unit: the unit.
        history: recordings of the unit at which a worker died; none by default.
        heartbeat: shows the progress to the supervisor.

    Raises:
        BadUnits: the units were cut from another inventory.
        MissingLibrary: this machine cannot decode a format, or lacks the engine.
        StorageError: the output cannot be written.
    """
    rows = read_rows(context.inventory, unit.first, unit.recordings)
    if unit_id(rows) != unit.id:
        raise BadUnits(
            where=context.inventory,
            expected=f"the rows of unit {unit.id} from row {unit.first} on",
            found="other rows",
            hint="The inventory was changed after its commit: scan again.",
        )
    counts = _UnitCounts()
    recordings = _Recordings(context, rows, history or CrashHistory(), heartbeat or Heartbeat())
    files = _extract_all(context, unit, recordings, counts)
    name = receipt_name(unit, context.basis)
    receipt = Receipt(unit=name, attempt=context.attempt, files=files, counts=counts.to_json())
    return publish_receipt(context.folder, receipt)


@dataclass(frozen=True)
class _Recordings:
    context: UnitContext
    rows: list[Row]
    history: CrashHistory
    heartbeat: Heartbeat

    def outcomes(self) -> Iterator[Extracted | Refused]:
        """Yield the outcome of each recording; it is valid until the next outcome is requested."""
        if self.history.suspect is not None:
            with self._extracted(self.history.suspect):
                pass
        for number, row in enumerate(self.rows):
            if number in self.history.blamed:
                yield refused(row, self.history.blamed[number])
            else:
                with self._extracted(number) as outcome:
                    yield outcome

    @contextmanager
    def _extracted(self, number: int) -> Iterator[Extracted | Refused]:
        source, settings = self.context.source, self.context.settings
        self.heartbeat.start(number)
        with (
            translated_errors(),
            extract_recording(source, self.rows[number], settings, self.heartbeat) as outcome,
        ):
            self.heartbeat.finish()
            yield outcome


def _extract_all(
    context: UnitContext, unit: Unit, recordings: _Recordings, counts: _UnitCounts
) -> tuple[FileEntry, ...]:
    ledger: list[Row] = []
    files = []
    with scratch_file() as file:
        table = _FeaturesFile(file, context.feature)
        with closing(recordings.outcomes()) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                counts.add(outcome)
                if isinstance(outcome, Refused):
                    ledger.append(outcome.row)
                else:
                    table.add(outcome)
        table.close()
        if rows := counts.windows:
            start = f"features/features-{unit.id}"
            files.append(publish_as(file, context.folder, start, role=FEATURES, records=rows))
    if ledger:
        with scratch_file() as file:
            with table_writer(file, LEDGER) as writer:
                writer.write_table(pa.Table.from_pylist(ledger, schema=LEDGER))
            start, rows = f"ledger/ledger-{unit.id}", len(ledger)
            files.append(publish_as(file, context.folder, start, role=LEDGER_ROLE, records=rows))
    return tuple(files)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the stage's errors for a missing library or invalid settings."""
    try:
        yield
    except MissingDecoder as error:
        raise MissingLibrary(
            str(error),
            hint="For an engine: pip install 'audioloom-featurizer[native]', or [librosa]. Then run"
            " the command again to resume.",
        ) from error
    except BadSettings as error:
        raise InvalidOption(str(error)) from error
