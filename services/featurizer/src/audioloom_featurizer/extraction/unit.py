"""One unit of work: its recordings to a features file and a ledger file, then the receipt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
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

from audioloom_featurizer.errors import BadUnits, BadWish, MissingLibrary
from audioloom_featurizer.extraction.partition import Unit, receipt_name, unit_id
from audioloom_featurizer.extraction.recording import Extracted, Refused, extract_recording, refused
from audioloom_featurizer.inventory.parquet import Row, read_rows
from audioloom_featurizer.io.content_addressed import Spill, spill
from audioloom_featurizer.sandbox.heartbeat import Pulse
from audioloom_featurizer.sandbox.outcome import Trial

FEATURES, LEDGER_ROLE = "features", "ledger"


@dataclass(frozen=True)
class Job:
    """What all units of a run share; travels to the tasks.

    Attributes:
        folder: the run's folder.
        inventory: the inventory file.
        source: the folder that the inventory's paths are relative to.
        basis: tells the recipe and the inputs from others that were given the same name.
    """

    folder: Location
    inventory: Location
    source: Location
    feature: Feature
    settings: MfccSettings
    attempt: str
    basis: str


@dataclass
class _Tally:
    """What a unit counts on the way; it goes into the receipt."""

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

    def counts(self) -> dict[str, Any]:
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
    """Windows gathered into row groups of the contract's size."""

    def __init__(self, sink: Spill, feature: Feature) -> None:
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


def do_unit(
    job: Job, unit: Unit, trial: Trial | None = None, pulse: Pulse | None = None
) -> Receipt:
    """Do a unit, and answer the receipt that stands: ours, or that of a faster try.

    Args:
        job: what all units share.
        unit: which one.
        trial: what is known of its recordings; nothing without it.
        pulse: told how it goes.

    Raises:
        BadUnits: the inventory is not the one that the units were cut from.
        MissingLibrary: this machine cannot decode a format, or lacks the engine.
        StorageError: the output cannot be written.
    """
    rows = read_rows(job.inventory, unit.first, unit.recordings)
    if unit_id(rows) != unit.id:
        raise BadUnits(
            where=job.inventory,
            expected=f"the rows of unit {unit.id} from row {unit.first} on",
            found="other rows",
            hint="The inventory was changed after its commit: scan again.",
        )
    tally = _Tally()
    work = _Work(job, rows, trial or Trial(), pulse or Pulse())
    files = _extract_all(job, unit, work, tally)
    name = receipt_name(unit, job.basis)
    receipt = Receipt(unit=name, attempt=job.attempt, files=files, counts=tally.counts())
    return publish_receipt(job.folder, receipt)


@dataclass(frozen=True)
class _Work:
    """The recordings of a unit, one after another."""

    job: Job
    rows: list[Row]
    trial: Trial
    pulse: Pulse

    def outcomes(self) -> Iterator[Extracted | Refused]:
        """What became of each; good until the next one is asked for."""
        if self.trial.suspect is not None:
            with self._extracted(self.trial.suspect):
                pass
        for number, row in enumerate(self.rows):
            if number in self.trial.guilty:
                yield refused(row, self.trial.guilty[number])
            else:
                with self._extracted(number) as outcome:
                    yield outcome

    @contextmanager
    def _extracted(self, number: int) -> Iterator[Extracted | Refused]:
        row, settings = self.rows[number], self.job.settings
        self.pulse.at(number)
        with explaining(), extract_recording(self.job.source, row, settings, self.pulse) as outcome:
            self.pulse.at(None)
            yield outcome


def _extract_all(job: Job, unit: Unit, work: _Work, tally: _Tally) -> tuple[FileEntry, ...]:
    ledger: list[Row] = []
    files = []
    with spill() as features:
        table = _FeaturesFile(features, job.feature)
        with closing(work.outcomes()) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                tally.add(outcome)
                if isinstance(outcome, Refused):
                    ledger.append(outcome.row)
                else:
                    table.add(outcome)
        table.close()
        if tally.windows:
            start = f"features/features-{unit.id}"
            entry = features.publish_as(job.folder, start, role=FEATURES, records=tally.windows)
            files.append(entry)
    if ledger:
        files.append(_write_ledger(job, unit, ledger))
    return tuple(files)


@contextmanager
def explaining() -> Iterator[None]:
    """Say in the stage's words what this machine lacks, or the settings ask too much of."""
    try:
        yield
    except MissingDecoder as error:
        raise MissingLibrary(
            str(error),
            hint="For an engine: pip install 'audioloom-featurizer[native]', or [librosa]. The same"
            " command goes on with the units that are left.",
        ) from error
    except BadSettings as error:
        raise BadWish(str(error)) from error


def _write_ledger(job: Job, unit: Unit, rows: list[Row]) -> FileEntry:
    with spill() as sink:
        with table_writer(sink, LEDGER) as writer:
            writer.write_table(pa.Table.from_pylist(rows, schema=LEDGER))
        start = f"ledger/ledger-{unit.id}"
        return sink.publish_as(job.folder, start, role=LEDGER_ROLE, records=len(rows))
