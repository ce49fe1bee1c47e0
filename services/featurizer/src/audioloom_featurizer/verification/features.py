"""Check that features and ledger match their manifest and hold every recording once."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
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

ROWS_AT_ONCE = 128
ORDER = ("path", "window", "channel", "flags", "recording_seconds")

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
    dtype = np.dtype({"float32": "<f4", "float16": "<f2"}[feature.dtype])
    paths: list[str] = []
    last: tuple[int, int] = (-1, -1)
    rows = 0
    flagged: set[str] = set()
    lengths: list[float] = []
    with open_parquet(where, features_schema(feature)) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE, use_threads=False):
            values = b"".join(batch.column(feature.name).to_pylist())
            if not np.isfinite(np.frombuffer(values, dtype)).all():
                findings.problems.append(
                    f"{where}: values that are not finite, in rows from {rows} on"
                )
            columns = [batch.column(name).to_pylist() for name in ORDER]
            for path, window, channel, flags, seconds in zip(*columns, strict=True):
                if flags:
                    flagged.add(path)
                if not paths or paths[-1] != path:
                    paths.append(path)
                    lengths.append(seconds)
                elif (window, channel) <= last:
                    findings.problems.append(
                        f"{where}: windows of {path} are twice or out of order"
                    )
                last = (window, channel)
            rows += batch.num_rows
            labels = batch.column("label").to_pylist()
            findings.labels.update(label for label in labels if label is not None)
    findings.counts["windows"] += rows
    findings.counts["flagged"] += len(flagged)
    findings.seconds.append(math.fsum(lengths))
    return paths, rows


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
