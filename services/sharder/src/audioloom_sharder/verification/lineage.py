"""Open the inputs of a committed run again, so that `verify` can decide its splits again."""

from audioloom_manifest.envelope import InputRef
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest, resolve_input
from audioloom_manifest.tables import BadTable

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.inputs.manifests import open_inputs
from audioloom_sharder.io.executor import RunUnits
from audioloom_sharder.recipe import rules_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.previous_run import PreviousRun, open_previous_run
from audioloom_sharder.splits.table import SplitTable, open_split_table
from audioloom_sharder.steps.decide_splits import SourceUnit, decide_in_memory


def previous_run_reference(opened: Opened[ShardsManifest]) -> InputRef | None:
    """Return the previous run whose splits this run kept; None without one."""
    return next((one for one in opened.manifest.inputs if one.kind == "shards"), None)


def reopen_inputs(
    opened: Opened[ShardsManifest], table: str | None, run_units: RunUnits
) -> tuple[Rules, list[SourceUnit]]:
    """Open the inputs of a run, and decide its splits again; return rules and a unit for each file.

    *table* is the new location of the split table, if it was moved.

    Raises:
        ManifestError, StorageError, BadData: an input is missing, damaged or replaced.
    """
    features = [one for one in opened.manifest.inputs if one.kind == "features"]
    inputs = open_inputs([_same(opened, reference) for reference in features])
    source = _previous_run(opened) or _table(opened, table)
    rules = rules_of(opened.manifest.recipe, inputs, source)
    return decide_in_memory(inputs, rules, source, run_units)


def _same(opened: Opened[ShardsManifest], reference: InputRef) -> str:
    """Return the location of an input; raise DamagedShards if its identity has changed."""
    place = resolve_input(reference, opened.root)
    found = read_manifest(place, reference.kind)
    if found.manifest.identity != reference.identity:
        raise DamagedShards(
            expected=f"the {reference.kind} {reference.identity}",
            found=found.manifest.identity,
            where=found.location,
            hint=f"Other {reference.kind} lie there now.",
        )
    return str(place)


def _previous_run(opened: Opened[ShardsManifest]) -> PreviousRun | None:
    reference = previous_run_reference(opened)
    if reference is None:
        return None
    splits = sorted(opened.manifest.recipe.splits)
    return open_previous_run(_same(opened, reference), opened.root, splits)


def _table(opened: Opened[ShardsManifest], place: str | None) -> SplitTable | None:
    expected = opened.manifest.recipe.split_table_sha256
    if expected is None:
        return None
    where = place or opened.manifest.execution.settings.get("split_table")
    if not isinstance(where, str):
        raise BadTable(
            expected="the location of the split table",
            found="none in the manifest",
            where=opened.location,
            hint="Give it with --split-table.",
        )
    table = open_split_table(where)
    if table.sha256 != expected:
        raise BadTable(
            expected=f"the table with SHA-256 {expected}",
            found=table.sha256,
            where=table.location,
            hint="Another table lies there now: give the right one with --split-table.",
        )
    return table
