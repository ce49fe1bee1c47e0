"""Predict what a shards run takes, from features manifests alone: no features file is opened."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from audioloom_manifest.envelope import Cost
from audioloom_runs.capacity import (
    BLOCK_READS_BYTES,
    CLOSURE_BYTES,
    COPIES,
    DRIVER_BYTES,
    ENTRIES_OF_FOLDER,
    READ_BYTES,
    Line,
    blocks_of,
    call_lines,
    calls,
)
from audioloom_runs.cost import predict_cost
from audioloom_runs.prediction import Expected, busiest

from audioloom_sharder.formats.names import FOLDER_SHARDS
from audioloom_sharder.recipe import RequestedRun
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.layout import Layout, make_layout
from audioloom_sharder.sharding.ranking import RANGE_RECORDS, ranges_for
from audioloom_sharder.splits.ratios import DEFAULT_RATIOS, parse_ratios
from audioloom_sharder.steps.merge import ShardUnit, shard_units
from audioloom_sharder.windows.metadata_scan import SplitCount, Summary

RECORD_BYTES = 250
"""Of a record besides its values: names, numbers and framing."""
CORE_SECONDS = 1.1e-8
"""Of all steps, for a byte of records."""
WINDOW_SECONDS = 1.2e-4
"""Of all steps, for a window besides its bytes."""
START_SECONDS, INLINE_START_SECONDS = 16.0, 1.0
"""Of a run with Spark, and of one without."""
DRIVER_BASE_BYTES = 130 << 20
"""Of the driver's process, whatever the run."""
DRIVER_FILE_BYTES, DRIVER_SHARD_BYTES, DRIVER_COUNT_BYTES = 16_000, 4600, 80
"""What the driver holds of a features file, of a shard, and of a label of a shard."""

_ADVICE = "fewer features files: featurizer run --unit-bytes; larger shards: --shard-bytes"


@dataclass(frozen=True)
class Planned:
    """The counts that the lines are computed from."""

    recordings: int
    windows: int
    files: int
    """Features files."""
    layout: Layout
    """The shards, as far as they can be predicted."""
    rules: Rules
    closure: int = 0
    """Bytes of the largest task that Spark sends to each unit."""

    @property
    def ranges(self) -> int:
        """The number of ranges of hashes that are ranked."""
        return ranges_for(self.windows)

    @cached_property
    def units(self) -> list[ShardUnit]:
        """The units of the last step."""
        return shard_units(self.layout)

    @property
    def values(self) -> int:
        """The bytes of the features of all windows."""
        return self.windows * self.rules.window_bytes

    @property
    def size(self) -> int:
        """The bytes of all records."""
        return sum(split.bytes for split in self.layout.splits)


def expected_layout(windows: int, labels: Mapping[str, int], rules: Rules, where: str) -> Layout:
    """The shards of a run whose splits have exactly their ratios, the default ones if data decide.

    The run has so many *windows*, with so many of each label; *where* names the inputs in errors.
    """
    ratios = rules.recipe.splits or {
        name: float(ratio) for name, ratio in parse_ratios(DEFAULT_RATIOS).items()
    }
    record = rules.window_bytes + RECORD_BYTES
    counts: dict[str, SplitCount] = {}
    for name, ratio in sorted(ratios.items()):
        records = max(1, round(windows * ratio))
        shares = Counter({label: max(1, round(count * ratio)) for label, count in labels.items()})
        counts[name] = SplitCount(records, records * record, shares)
    return make_layout(Summary(counts, {}), replace(rules, data_splits=tuple(counts)), where)


def run_calls(planned: Planned) -> Counter[str]:
    """The calls of `run`.

    A features file is opened for its scan and for its segment, for which its scan file is opened
    too; each range opens all scan files, each segment the ranks of all ranges, and each unit of
    shards all segments. Steps leave a file and a receipt for each unit.
    """
    files, ranges, units = planned.files, planned.ranges, len(planned.units)
    shards, lookup = planned.layout.shards, planned.rules.needs_lookup
    between = (6 if lookup else 4) * files + 2 * ranges + 3
    written = (2 if planned.rules.indexed else 1) * shards + units
    more_blocks = sum(blocks_of(planned.size, count) - count for count in (files, shards))
    return calls(
        opens=files * (units + 2 * ranges + 3 + (6 if lookup else 0)) + 2 * ranges,
        stats=(4 if lookup else 2) * files,
        files=between + written,
        blocks=between + written + more_blocks,
        folders=(3 if lookup else 2) * files + ranges + units,
        removed=between,
    )


def verify_calls(planned: Planned) -> Counter[str]:
    """The calls of `verify`: features are read once, shards and indexes digested and read."""
    files, shards = planned.files, planned.layout.shards
    return calls(opens=2 * files + 4 * shards, stats=2 * files + 3 * shards)


def cost_of(request: RequestedRun, master: str, cores: int) -> dict[str, Cost]:
    """What `run` is predicted to take on a Spark master with so many cores, by the inputs alone."""
    windows, files = request.inputs.windows, len(request.inputs.sources)
    recipe = request.rules.recipe
    size = windows * (request.rules.window_bytes + RECORD_BYTES)
    shards = recipe.shards or size / (recipe.shard_bytes or 1)
    core = size * CORE_SECONDS + windows * WINDOW_SECONDS
    start = INLINE_START_SECONDS if master == "inline" else START_SECONDS
    return predict_cost(
        request.plan,
        same=("format", "compression", "resample"),
        master=master,
        cores=cores,
        seconds=Expected(start, busiest(core, files, cores)),
        memory=Expected(DRIVER_BASE_BYTES, files * DRIVER_FILE_BYTES + shards * DRIVER_SHARD_BYTES),
        stored=Expected(0, size),
    )


def driver_bytes(planned: Planned) -> int:
    """The memory of the driver at the commit, when it holds most."""
    labels = len(planned.layout.labels)
    shard = DRIVER_SHARD_BYTES + labels * DRIVER_COUNT_BYTES
    return DRIVER_BASE_BYTES + planned.files * DRIVER_FILE_BYTES + planned.layout.shards * shard


def largest_folder(planned: Planned) -> int:
    """The entries of the largest folder: that of the features files' units, or that of shards."""
    first = (min(FOLDER_SHARDS, split.shards) for split in planned.layout.splits)
    return max(planned.files, 2 * sum(first))


def lines_of(planned: Planned) -> list[Line]:
    """What the run takes, line by line."""
    layout, files, size = planned.layout, planned.files, planned.size
    largest = max(len(unit.shards) for unit in planned.units) * size // layout.shards
    ranks = RANGE_RECORDS * 8 + files * READ_BYTES
    return [
        Line("recordings", planned.recordings),
        Line("windows", planned.windows),
        Line("bytes of features", planned.values, "B"),
        Line("features files", files),
        Line("shards", layout.shards),
        Line("ranges of hashes", planned.ranges),
        Line("units of shards", len(planned.units)),
        Line("core-hours", size * CORE_SECONDS / 3600, "h"),
        Line("bytes read", planned.values + size, "B"),
        Line(f"bytes written, {COPIES} copies", 2 * size * COPIES, "B"),
        Line(f"bytes at most at once, {COPIES} copies", 2 * size * COPIES, "B"),
        Line("local disk of a task", largest, "B"),
        *call_lines(run_calls(planned), _ADVICE),
        Line("largest folder", largest_folder(planned), "", ENTRIES_OF_FOLDER, _ADVICE),
        Line("memory of the driver", driver_bytes(planned), "B", DRIVER_BYTES, _ADVICE),
        Line("closure of a task", planned.closure, "B", CLOSURE_BYTES, "fewer or shorter labels"),
        Line("read of the hottest block", ranks, "B", BLOCK_READS_BYTES, _ADVICE),
    ]
