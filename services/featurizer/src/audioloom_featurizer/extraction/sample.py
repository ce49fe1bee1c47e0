"""Compare a small sample of every run with librosa before its commit.

The sample are the recordings whose paths have the smallest digests, so a rerun compares the same
ones. Their first windows are read from the features files and computed again.
"""

import pickle
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import chain
from typing import NamedTuple

import structlog
from audioloom_manifest.kinds import Agreement
from audioloom_manifest.receipts import Receipt
from audioloom_stage.progress_bar import working
from audioloom_storage import Location

from audioloom_featurizer.errors import Disagreement
from audioloom_featurizer.extraction.agreement import Comparison, Stored, compare, read_stored
from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.extraction.unit import FEATURES, UnitContext
from audioloom_featurizer.inventory.parquet import read_batches, read_rows
from audioloom_featurizer.inventory.subset import smallest_digests
from audioloom_featurizer.sandbox.messages import CrashHistory, Heartbeat
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised

SAMPLE = 4
CANDIDATES = 4 * SAMPLE
"""Refused recordings have no values, so there are more candidates."""

log = structlog.get_logger()


class Candidate(NamedTuple):
    """A recording of the sample: the number of its row, and the features files of its unit."""

    row: int
    path: str
    files: tuple[str, ...]


def check_sample(
    context: UnitContext,
    units: Sequence[Unit],
    receipts: Sequence[Receipt],
    limits: WorkerLimits | None,
) -> Agreement | None:
    """Compare the sample with librosa; None if librosa has no such feature, or nothing was read.

    The receipts are those of all units, in the same order. The *limits* are those of the process
    that decodes; None decodes in this process.

    Raises:
        Disagreement: a value is outside the contract.
        MissingLibrary: librosa is not installed.
    """
    if context.settings.feature.agreement is None:
        return None
    candidates = _candidates(context.inventory, units, receipts)
    task = partial(compare_sample, context)
    with working("comparing a sample with librosa"):
        if limits is None:
            found: Comparison = task(candidates)
        else:
            answer = run_supervised(pickle.dumps(task), limits, pickle.dumps(candidates))
            found = pickle.loads(answer)  # noqa: S301 - from our own process
    if found.unread:
        log.warning("sample not read again", recordings=len(found.unread), first=found.unread[0])
    if found.problems:
        raise Disagreement(
            "the values are not those of librosa, so nothing was committed",
            where=context.folder,
            expected="values within the contract (SPEC.md, 8.6)",
            found="\n".join(found.problems),
            hint="Run with --engine numpy or --engine librosa, and please report this.",
        )
    if not found.windows:
        return None
    return Agreement(
        library=f"librosa {version('librosa')}",
        recordings=found.recordings,
        windows=found.windows,
        deviation=float(f"{found.deviation:.2g}"),
    )


def compare_sample(
    context: UnitContext,
    candidates: Sequence[Candidate],
    history: CrashHistory | None = None,
    heartbeat: Heartbeat | None = None,
) -> Comparison:
    """Compare the first windows of the first `SAMPLE` candidates that have any."""
    beats = heartbeat or Heartbeat()
    blamed = (history or CrashHistory()).blamed

    def stored() -> Iterator[Stored]:
        compared = 0
        for number, candidate in enumerate(candidates):
            if number in blamed or compared == SAMPLE:
                continue
            feature, path = context.feature, candidate.path
            read = partial(read_stored, context.folder, feature=feature, paths=[path], first=True)
            found = (windows for file in candidate.files for _, windows in read(file))
            if windows := next(filter(None, found), None):
                compared += 1
                (row,) = read_rows(context.inventory, candidate.row, 1).to_pylist()
                beats.start(number)
                yield Stored(row, windows)
                beats.finish()

    first = replace(context.settings, windows="first")
    return compare(stored(), context.source, first, beats)


def _candidates(
    inventory: Location, units: Sequence[Unit], receipts: Sequence[Receipt]
) -> list[Candidate]:
    starts = [unit.first for unit in units]
    files = [
        tuple(file.path for file in receipt.files if file.role == FEATURES) for receipt in receipts
    ]

    paths = (batch.column("path").to_pylist() for batch in read_batches(inventory, ["path"]))
    rows = ((path, row) for row, path in enumerate(chain.from_iterable(paths)))
    chosen = smallest_digests(rows, CANDIDATES)
    placed = ((row, path, files[bisect_right(starts, row) - 1]) for path, row in chosen)
    return [Candidate(*each) for each in placed if each[-1]]
