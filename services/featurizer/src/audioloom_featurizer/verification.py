"""The checks of `verify`: inventories, features and ledgers, whose files have their checksums.

Features and ledger match their manifest and hold every recording once.
"""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.errors import MissingFile, MissingManifest
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.parquet import LEDGER, features_schema, open_parquet
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_storage import Location, read_bytes

from audioloom_featurizer.errors import BadInventory, NoRecordings
from audioloom_featurizer.extraction.partition import MOST_BYTES, Unit, parse_units
from audioloom_featurizer.extraction.partition import ROLE as UNITS_ROLE
from audioloom_featurizer.extraction.unit import FEATURES, LEDGER_ROLE
from audioloom_featurizer.inventory.parquet import ROLE as INVENTORY_ROLE
from audioloom_featurizer.inventory.parquet import (
    InventorySummary,
    inventory_location,
    only_file,
    read_batches,
    read_rows,
)
from audioloom_featurizer.inventory.paths import unsafe
from audioloom_featurizer.streams import equals_previous
from audioloom_featurizer.tables.recipe import is_imported

ROWS_AT_ONCE = 128
_CHECKED = ["path", "window", "channel", "label", "flags", "recording_seconds"]
_MOST_CHANNELS = 256

log = structlog.get_logger()


def check_inventory(opened: Opened[RecordingsManifest]) -> list[str]:
    """List problems as texts: columns, order, paths outside the source, counts, digests."""
    where = opened.folder / only_file(opened, INVENTORY_ROLE).path
    problems: list[str] = []
    summary = InventorySummary()
    last = None
    for batch in read_batches(where):
        summary.add(batch)
        paths = batch.column("path")
        before = pa.concat_arrays([pa.array([last], pa.string()), paths[: len(paths) - 1]])
        for which, trouble in (
            (pc.less_equal(paths, before), "is not in order, or is there twice"),
            (unsafe(paths), "is not a path below the source"),
        ):
            wrong = paths.filter(which).to_pylist()
            problems.extend(f"{where}: {path[:200]!r} {trouble}" for path in wrong)
        last = paths[len(paths) - 1].as_py()
    recipe, claimed, counted = opened.manifest.recipe, opened.manifest.stats, summary.stats()
    digests = {
        "listing": (recipe.listing_sha256, summary.listing_digest.hexdigest()),
        "labels": (recipe.labels_sha256, summary.labelling_digest.hexdigest()),
    }
    problems += [
        f"{where}: expected the {name} {expected}, found {found}"
        for name, (expected, found) in digests.items()
        if expected not in (None, found)
    ]
    return problems + [
        f"{where}: expected {name} = {getattr(claimed, name)}, found {getattr(counted, name)}"
        for name in type(claimed).model_fields
        if name != "dropped"  # dropped recordings leave no trace
        and getattr(counted, name) != getattr(claimed, name)
    ]


def check_features(opened: Opened[FeaturesManifest]) -> list[str]:
    """List problems as texts: columns, values, missing or repeated recordings, counts."""
    if is_imported(opened.manifest.recipe):
        return _check_imported(opened)
    recordings = recordings_of(opened)
    check = _Check(opened, _inventory(recordings))
    by_unit: dict[str, list[FileEntry]] = defaultdict(list)
    for entry in opened.files(FEATURES, LEDGER_ROLE):
        by_unit[_unit_of(entry.path)].append(entry)
    follows = 0
    where = opened.folder / only_file(opened, UNITS_ROLE).path
    for unit in parse_units(read_bytes(where, limit=MOST_BYTES), where):
        if unit.first != follows:
            found = f"expected to begin at row {follows}, found {unit.first}"
            check.problem(f"unit {unit.id}", found)
        follows = unit.first + unit.recordings
        check.unit(unit, by_unit.pop(unit.id, []))
    if recordings is not None and follows != (expected := recordings.manifest.stats.recordings):
        found = f"expected units of all {expected} recordings, found {follows}"
        check.problem(opened.folder, found)
    for name, entries in by_unit.items():
        found = f"files of a unit that is not planned: {name or entries[0].path}"
        check.problem(opened.folder, found)
    check.stats()
    return check.problems


def _check_imported(opened: Opened[FeaturesManifest]) -> list[str]:
    """Check features that came from a table, whose recordings are in order over all files."""
    check = _Check(opened, None)
    last = ""
    for entry in opened.files(FEATURES):
        for path in check.file(entry):
            if path <= last:
                where = opened.folder / entry.path
                check.problem(where, f"{path} is in more than one place, or out of order")
            last = max(path, last)
    check.stats()
    return check.problems


@dataclass
class _Check:
    """The problems found so far, and the counts of the units that were read.

    Attributes:
        opened: the run.
        inventory: the inventory of its recordings; None if it is gone.
    """

    opened: Opened[FeaturesManifest]
    inventory: Location | None
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def problem(self, where: object, text: str) -> None:
        self.problems.append(f"{where}: {text}")

    def unit(self, unit: Unit, entries: list[FileEntry]) -> None:
        """Check one unit; it has all windows of its recordings, so memory holds only its paths."""
        both: Counter[str] = Counter()
        for entry in entries:
            both.update(self.file(entry))
        named = f"unit {unit.id}"
        if twice := sorted(path for path, times in both.items() if times > 1):
            self.problem(named, f"{twice[0]} is in more than one place")
        if self.inventory is None:
            if both.total() != unit.recordings:
                self.problem(named, f"expected {unit.recordings}, found {both.total()} recordings")
            return
        rows = read_rows(self.inventory, unit.first, unit.recordings)
        listed = set(rows.column("path").to_pylist())
        for word, those in (
            ("neither in the features nor in the ledger", listed - both.keys()),
            ("not in the inventory", both.keys() - listed),
        ):
            if those:
                self.problem(named, f"{min(those)} is {word} ({len(those)} such)")

    def file(self, entry: FileEntry) -> list[str]:
        """Check one file of features or ledger; return its recordings, in order."""
        where = self.opened.folder / entry.path
        read = self._windows if entry.role == FEATURES else self._ledger
        paths, rows = read(where)
        if entry.records is not None and rows != entry.records:
            self.problem(where, f"expected {entry.records} rows, found {rows}")
        return paths

    def _windows(self, where: Location) -> tuple[list[str], int]:
        """Read the recordings of a features file, in order, and the number of its rows."""
        feature = self.opened.manifest.recipe.feature
        dtype = np.dtype(feature.dtype).newbyteorder("<")
        with open_parquet(where, features_schema(feature)) as file:
            values = file.iter_batches(ROWS_AT_ONCE, columns=[feature.name], use_threads=False)
            for number, batch in enumerate(values):
                data = np.frombuffer(b"".join(batch.column(0).to_pylist()), dtype)
                if not np.isfinite(data).all():
                    rows = f"rows from {number * ROWS_AT_ONCE} on"
                    self.problem(where, f"values that are not finite, in {rows}")
            table = file.read(columns=_CHECKED, use_threads=False).combine_chunks()
        paths = table["path"].combine_chunks()
        goes_on = equals_previous(paths, None)
        begins = pc.invert(goes_on)
        window, channel = (table[name].to_numpy().astype(int) for name in ("window", "channel"))
        rises = np.diff(window * _MOST_CHANNELS + channel, prepend=-1) > 0
        for path in paths.filter(pc.and_not(goes_on, pa.array(rises))).unique():
            self.problem(where, f"windows of {path} are twice or out of order")
        flagged = paths.filter(pc.greater(pc.list_value_length(table["flags"]), 0).combine_chunks())
        recordings = paths.filter(begins).to_pylist()
        self.counts.update(
            extracted=len(recordings), windows=len(table), flagged=len(flagged.unique())
        )
        self.labels.update(table["label"].drop_null().to_pylist())
        self.seconds.append(math.fsum(table["recording_seconds"].filter(begins).to_pylist()))
        return recordings, len(table)

    def _ledger(self, where: Location) -> tuple[list[str], int]:
        """Read the recordings of a ledger file, and the number of its rows."""
        with open_parquet(where, LEDGER) as file:
            table = file.read(columns=["path", "class"], use_threads=False)
        self.counts.update(refused=len(table))
        self.refusals.update(table["class"].to_pylist())
        return table["path"].to_pylist(), len(table)

    def stats(self) -> None:
        """Compare the counts with those of the manifest."""
        stats, seconds = self.opened.manifest.stats, math.fsum(self.seconds)
        names = ("extracted", "refused", "flagged", "windows")
        found: dict[str, object] = {
            "recordings": self.counts["extracted"] + self.counts["refused"],
            **{name: self.counts[name] for name in names},
            "labels": dict(self.labels),
            "refusals": dict(self.refusals),
        }
        if not math.isclose(stats.audio_seconds, seconds, rel_tol=1e-9, abs_tol=1e-6):
            found["audio_seconds"] = seconds
        for name, value in found.items():
            if (claimed := getattr(stats, name)) != value:
                self.problem(self.opened.location, f"expected {name} = {claimed}, found {value}")


def _inventory(recordings: Opened[RecordingsManifest] | None) -> Location | None:
    try:
        if recordings is not None:
            return inventory_location(recordings)
    except MissingFile:
        pass
    log.warning("the recordings manifest is gone: checking counts, not paths")
    return None


def recordings_of(opened: Opened[FeaturesManifest]) -> Opened[RecordingsManifest] | None:
    """The manifest that the features were made from, or None if it is gone."""
    reference = opened.manifest.inputs[0] if opened.manifest.inputs else None
    if reference is None:
        raise BadInventory(where=opened.location, expected="one input", found="none")
    try:
        recordings = read_manifest(resolve_input(reference, opened.root), "recordings")
    except MissingManifest:
        return None
    return recordings if recordings.manifest.identity == reference.identity else None


def need_recordings(opened: Opened[FeaturesManifest]) -> Opened[RecordingsManifest]:
    """The manifest that the features were made from; raise `NoRecordings` if it is gone."""
    if (recordings := recordings_of(opened)) is not None:
        return recordings
    raise NoRecordings(
        "the recordings manifest is gone, so nobody knows where the recordings lie",
        where=opened.location,
        expected="its input",
        found="nothing there",
        hint="Scan again: if nothing changed, the manifest is the same.",
    )


def _unit_of(path: str) -> str:
    match = re.search(r"-([0-9a-f]{16})-[0-9a-f]{12}\.parquet$", path)
    return match[1] if match else ""
