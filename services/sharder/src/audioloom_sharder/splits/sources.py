"""The sources of splits besides ratios and hashes: a previous run or a split table."""

from dataclasses import dataclass

from audioloom_sharder.splits.previous_run import PreviousRun
from audioloom_sharder.splits.table import SplitTableFile


@dataclass(frozen=True)
class SplitSources:
    """The previous run and the split table of a run, if any."""

    previous_run: PreviousRun | None = None
    table: SplitTableFile | None = None


NO_SOURCES = SplitSources()
