"""Process the units of a run that have no receipt; stop if too many recordings are refused."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeAlias

import pyarrow.parquet as pq
import structlog
from audioloom_manifest.kinds import Agreement, FeaturesStats
from audioloom_manifest.receipts import Receipt, read_receipts
from audioloom_stage.progress_bar import progress
from audioloom_storage import open_read

from audioloom_featurizer.errors import NothingReadable, TooManyRefused
from audioloom_featurizer.extraction.error_budget import ErrorBudget, Refusals, check_budget
from audioloom_featurizer.extraction.partition import Unit, receipt_name
from audioloom_featurizer.extraction.unit import LEDGER_ROLE, UnitContext, extract_unit

MOST_LISTED = 20

Task: TypeAlias = Callable[[Unit], Receipt]
Runner: TypeAlias = Callable[[Sequence[Unit], Task], Iterator[Receipt]]

log = structlog.get_logger()


def finish_units(
    context: UnitContext, units: list[Unit], budget: ErrorBudget, runner: Runner
) -> list[Receipt]:
    """Process the units without a receipt; return the receipts of all units, in order.

    Raises:
        TooManyRefused, NothingReadable: the error budget is exceeded. Finished units are kept.
    """
    names = {unit: receipt_name(unit, context.basis) for unit in units}
    receipts = dict(read_receipts(context.folder, names.values()))
    todo = [unit for unit in units if names[unit] not in receipts]
    todo.sort(key=lambda unit: -unit.bytes)  # the longest last would leave other slots idle
    recordings = sum(unit.recordings for unit in units)
    if receipts:
        log.info("resuming", units_finished=len(receipts), units_to_do=len(todo))
    refusals, done = Refusals(), 0

    def add(receipt: Receipt) -> int:
        nonlocal done
        receipts[receipt.unit] = receipt
        refusals.counts.update(receipt.counts["refusals"])
        refusals.examples = {**receipt.counts["examples"], **refusals.examples}
        held = int(receipt.counts["extracted"] + receipt.counts["refused"])
        done += held
        try:
            check_budget(
                refusals, budget=budget, recordings=recordings, done=done, where=context.source
            )
        except (TooManyRefused, NothingReadable) as error:
            error.found += _listed(context, receipts.values())
            raise
        return held

    with progress(recordings, "extracting", "recordings") as bar:
        bar.done = sum(add(receipt) for receipt in [*receipts.values()])
        if todo:
            task = partial(extract_unit, context)
            with closing(runner(todo, task)) as answers:  # type: ignore[type-var]
                for receipt in answers:
                    bar.advance(add(receipt))
    return [receipts[names[unit]] for unit in units]


def _listed(context: UnitContext, receipts: Iterable[Receipt]) -> str:
    """Return a line for each refused recording of the ledgers, at most `MOST_LISTED`."""
    files = [file for each in receipts for file in each.files if file.role == LEDGER_ROLE]
    lines: list[str] = []
    for number, file in enumerate(files):
        if len(lines) >= MOST_LISTED:
            lines.append(f"and the refusals of {len(files) - number} more units")
            break
        with open_read(context.folder / file.path) as opened:
            ledger = pq.read_table(opened, columns=["path", "class", "message"])
        rows = ledger.slice(0, MOST_LISTED - len(lines)).to_pylist()
        lines += [f"{row['path']}: {row['class']}, {row['message']}" for row in rows]
        if len(rows) < len(ledger):
            lines.append(f"and {len(ledger) - len(rows)} more of this unit")
    return "".join(f"\n  {line}" for line in lines)


def stats_of(receipts: Iterable[Receipt], agreement: Agreement | None = None) -> FeaturesStats:
    """Add up the counts of all units."""
    all_counts = [receipt.counts for receipt in receipts]
    labels: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for counts in all_counts:
        labels.update(counts["labels"])
        refusals.update(counts["refusals"])
    whole = {
        key: sum(counts[key] for counts in all_counts)
        for key in ("extracted", "refused", "flagged", "windows")
    }
    return FeaturesStats(
        **whole,
        recordings=whole["extracted"] + whole["refused"],
        audio_seconds=round(math.fsum(counts["audio_seconds"] for counts in all_counts), 6),
        refusals=dict(sorted(refusals.items())),
        labels=dict(sorted(labels.items())),
        agreement=agreement,
    )
