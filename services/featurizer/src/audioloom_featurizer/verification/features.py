"""Check that features and ledger match their manifest and hold every recording once."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog
from audioloom_manifest import (
    Feature,
    FeaturesManifest,
    FileEntry,
    MissingFile,
    MissingManifest,
    Opened,
    RecordingsManifest,
    read_manifest,
    resolve_input,
)
from audioloom_manifest.parquet import LEDGER, features_schema
from audioloom_storage import Location, read_bytes

from audioloom_featurizer.errors import BadInventory
from audioloom_featurizer.extraction.partition import MOST_BYTES, Unit, parse_units, unit_id
from audioloom_featurizer.extraction.partition import ROLE as UNITS_ROLE
from audioloom_featurizer.extraction.unit import FEATURES, LEDGER_ROLE
from audioloom_featurizer.inventory.parquet import (
    inventory_location,
    only_file,
    open_parquet,
    read_rows,
)
from audioloom_featurizer.streams import equals_previous

ROWS_AT_ONCE = 128
_CHECKED = ["path", "window", "channel", "label", "flags", "recording_seconds"]
_MOST_CHANNELS = 256

log = structlog.get_logger()


class _Findings:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.problems: list[str] = []


def check_features(opened: Opened[FeaturesManifest]) -> list[str]:
    """List problems as texts: columns, values, missing or repeated recordings, counts."""
    findings = _Findings()
    by_unit: dict[str, list[FileEntry]] = defaultdict(list)
    for entry in opened.files(FEATURES, LEDGER_ROLE):
        by_unit[_unit_of(entry.path)].append(entry)
    units = _units(opened)
    recordings = recordings_of(opened)
    findings.problems += _gaps(opened, units, recordings)
    known = {unit.id for unit in units}
    findings.problems += [
        f"{opened.folder}: files of a unit that is not planned: {unit or entries[0].path}"
        for unit, entries in by_unit.items()
        if unit not in known
    ]
    inventory = _inventory(recordings)
    for unit in units:
        _check_unit(opened, unit, by_unit.get(unit.id, []), inventory, findings)
    findings.problems += _compare(opened, findings)
    return findings.problems


def _check_unit(
    opened: Opened[FeaturesManifest],
    unit: Unit,
    entries: list[FileEntry],
    inventory: Location | None,
    findings: _Findings,
) -> None:
    """Check one unit; it has all windows of its recordings, so memory holds only its paths."""
    extracted: list[str] = []
    refused: list[str] = []
    for entry in entries:
        where = opened.folder / entry.path
        if entry.role == FEATURES:
            paths, rows = _read_windows(where, opened.manifest.recipe.feature, findings)
            extracted += paths
        else:
            rows = _read_ledger(where, refused, findings)
        if entry.records is not None and rows != entry.records:
            findings.problems.append(f"{where}: expected {entry.records} rows, found {rows}")
    findings.counts["extracted"] += len(extracted)
    findings.counts["refused"] += len(refused)
    both = Counter(extracted) + Counter(refused)
    if twice := sorted(path for path, times in both.items() if times > 1):
        findings.problems.append(f"unit {unit.id}: {twice[0]} is in more than one place")
    if inventory is None:
        if both.total() != unit.recordings:
            found = f"{both.total()} recordings"
            findings.problems.append(f"unit {unit.id}: expected {unit.recordings}, found {found}")
        return
    rows_of_unit = read_rows(inventory, unit.first, unit.recordings)
    if unit_id(rows_of_unit) != unit.id:
        findings.problems.append(f"unit {unit.id}: the inventory has other rows at {unit.first}")
    listed = {row["path"] for row in rows_of_unit}
    problems = {
        "neither in the features nor in the ledger": listed - both.keys(),
        "not in the inventory": both.keys() - listed,
    }
    for word, those in problems.items():
        if those:
            findings.problems.append(f"unit {unit.id}: {min(those)} is {word} ({len(those)} such)")


def _read_windows(where: Location, feature: Feature, findings: _Findings) -> tuple[list[str], int]:
    """Read the recordings of a features file, in order, and the number of its rows."""
    dtype = np.dtype(feature.dtype).newbyteorder("<")
    with open_parquet(where, features_schema(feature)) as file:
        values = file.iter_batches(ROWS_AT_ONCE, columns=[feature.name], use_threads=False)
        for number, batch in enumerate(values):
            data = np.frombuffer(b"".join(batch.column(0).to_pylist()), dtype)
            if not np.isfinite(data).all():
                rows = f"rows from {number * ROWS_AT_ONCE} on"
                findings.problems.append(f"{where}: values that are not finite, in {rows}")
        table = file.read(columns=_CHECKED, use_threads=False).combine_chunks()
    paths = table["path"].combine_chunks()
    goes_on = equals_previous(paths, None)
    window, channel = (table[name].to_numpy().astype(np.int64) for name in ("window", "channel"))
    rises = np.diff(window * _MOST_CHANNELS + channel, prepend=-1) > 0
    torn = paths.filter(pc.and_not(goes_on, pa.array(rises)))
    findings.problems += [
        f"{where}: windows of {path} are twice or out of order" for path in torn.unique()
    ]
    begins = pc.invert(goes_on)
    flagged = paths.filter(pc.greater(pc.list_value_length(table["flags"].combine_chunks()), 0))
    findings.counts["windows"] += len(table)
    findings.counts["flagged"] += len(flagged.unique())
    findings.labels.update(table["label"].drop_null().to_pylist())
    findings.seconds += table["recording_seconds"].filter(begins).to_pylist()
    return paths.filter(begins).to_pylist(), len(table)


def _read_ledger(where: Location, refused: list[str], findings: _Findings) -> int:
    with open_parquet(where, LEDGER) as file:
        table = file.read(columns=["path", "class"], use_threads=False)
    refused += table.column("path").to_pylist()
    findings.refusals.update(table.column("class").to_pylist())
    return int(table.num_rows)


def _compare(opened: Opened[FeaturesManifest], findings: _Findings) -> list[str]:
    stats = opened.manifest.stats
    found = {
        "recordings": findings.counts["extracted"] + findings.counts["refused"],
        **{name: findings.counts[name] for name in ("extracted", "refused", "flagged", "windows")},
        "labels": dict(findings.labels),
        "refusals": dict(findings.refusals),
    }
    problems = [
        f"{opened.location}: expected {name} = {getattr(stats, name)}, found {value}"
        for name, value in found.items()
        if getattr(stats, name) != value
    ]
    seconds = math.fsum(findings.seconds)
    if not math.isclose(stats.audio_seconds, seconds, rel_tol=1e-9, abs_tol=1e-6):
        problems.append(
            f"{opened.location}: expected audio_seconds = {stats.audio_seconds}, found {seconds}"
        )
    return problems


def _gaps(
    opened: Opened[FeaturesManifest],
    units: list[Unit],
    recordings: Opened[RecordingsManifest] | None,
) -> Iterator[str]:
    """List gaps between units, and between the last unit and the end of the inventory."""
    follows = 0
    for unit in units:
        if unit.first != follows:
            yield f"unit {unit.id}: expected to begin at row {follows}, found {unit.first}"
        follows = unit.first + unit.recordings
    if recordings is not None and follows != recordings.manifest.stats.recordings:
        expected = recordings.manifest.stats.recordings
        yield f"{opened.folder}: expected units of all {expected} recordings, found {follows}"


def _units(opened: Opened[FeaturesManifest]) -> list[Unit]:
    where = opened.folder / only_file(opened, UNITS_ROLE).path
    return parse_units(read_bytes(where, limit=MOST_BYTES), where)


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


def _unit_of(path: str) -> str:
    match = re.search(r"-([0-9a-f]{16})-[0-9a-f]{12}\.parquet$", path)
    return match[1] if match else ""
