"""Log findings of a scan that are not in the inventory, and refuse likely mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from audioloom_storage import Location

from audioloom_featurizer.errors import (
    BadLabels,
    InvalidOption,
    NoRecordings,
    NothingNew,
    PatternMatchesNothing,
    Unlabelled,
)
from audioloom_featurizer.inventory.delta import Changes
from audioloom_featurizer.inventory.labels.path_pattern import PatternMatches, UnlabelledCount
from audioloom_featurizer.inventory.labels.table import JoinCount
from audioloom_featurizer.inventory.sources.walk import Skipped, normalise_suffixes
from audioloom_featurizer.settings import ScanSettings

log = structlog.get_logger()


@dataclass
class ScanReport:
    """Counts of a scan that the inventory does not hold.

    Attributes:
        skipped: files that do not count as recordings.
        matches: paths that the pattern matched.
        join: keys of the table of labels.
        changes: differences from the earlier listing.
        unlabelled: recordings without label and target.
        listed: recordings found.
        columns_from: the option that fills label, target and group.
    """

    skipped: Skipped = field(default_factory=Skipped)
    matches: PatternMatches = field(default_factory=PatternMatches)
    join: JoinCount = field(default_factory=JoinCount)
    changes: Changes = field(default_factory=Changes)
    unlabelled: UnlabelledCount = field(default_factory=UnlabelledCount)
    listed: int = 0
    columns_from: dict[str, str] = field(default_factory=dict)

    def fill(self, flag: str, names: Sequence[str]) -> None:
        """Note that an option fills some columns.

        Raises:
            InvalidOption: two options fill one column.
        """
        for name in names:
            if name in self.columns_from:
                raise InvalidOption(
                    f"two options give the {name} of a recording",
                    where=flag,
                    expected="one of the two",
                    found=f"{self.columns_from[name]} and {flag}",
                    hint="Remove the group from the pattern, or the column from the table.",
                )
            self.columns_from[name] = flag

    def log(self) -> None:
        """Log the skipped files and likely mistakes."""
        for reason, example in self.skipped.examples.items():
            log.info("skipped", reason=reason, files=self.skipped.counts[reason], example=example)
        if unmatched := self.matches.paths - self.matches.matched:
            log.warning(
                "the pattern does not match every recording: the others have no label",
                files=unmatched,
            )
        if self.join.unmatched:
            examples = self.join.examples
            log.warning(
                "labels that match no recording", keys=self.join.unmatched, examples=examples
            )
        for what, examples in self.changes.examples.items():
            if examples:
                log.warning(
                    "recordings differ from the earlier listing: scan again without --since",
                    what=what,
                    files=getattr(self.changes, what),
                    examples=examples,
                )

    def check(self, settings: ScanSettings, source: Location, recordings: int) -> None:
        """Refuse a listing that is certainly a mistake.

        Raises:
            NoRecordings, NothingNew, PatternMatchesNothing, BadLabels, Unlabelled.
        """
        if not self.listed:
            raise NoRecordings(
                "no recordings were found",
                where=settings.inventory or source,
                expected=f"files that end in {' '.join(normalise_suffixes(settings.suffix))}",
                found=_others(self.skipped),
                hint="Check the folder, or say which files are recordings with --suffix.",
            )
        if settings.pattern and not self.matches.matched:
            raise PatternMatchesNothing(
                "the pattern matches no recording",
                where=f"--pattern {settings.pattern}",
                expected="a pattern for the whole path below the source",
                found=f"{self.listed} paths such as {self.matches.example}",
            )
        if "--labels" in self.columns_from.values() and not self.join.recordings:
            raise BadLabels(
                "the labels match no recording",
                where=settings.labels or settings.labels_jdbc,
                expected=f"keys that are the {settings.labels_by} of recordings",
                found=", ".join(map(repr, self.join.examples)) or "no rows",
                hint="See --labels-by and --labels-columns key=COLUMN.",
            )
        without = f"without, such as {', '.join(self.unlabelled.examples)}"
        if settings.unlabelled == "refuse" and self.unlabelled.recordings:
            raise Unlabelled(
                "recordings have no label",
                where=source,
                expected="a label or a target for each",
                found=f"{self.unlabelled.recordings} {without}",
                hint="Label them, or leave them out with --unlabelled drop.",
            )
        if not recordings and settings.since is not None and not self.unlabelled.dropped:
            raise NothingNew(
                "no recording is new",
                where=source,
                expected=f"recordings that {settings.since} does not list",
                found=f"{self.changes.changed} changed, {self.changes.gone} gone, none new",
                hint="There is nothing to do; scan without --since to list everything.",
            )
        if not recordings:
            raise Unlabelled(
                "no recording is left",
                where=source,
                expected="some with a label or a target",
                found=f"{self.unlabelled.dropped} {without}",
                hint="See --pattern and --labels, or keep them: --unlabelled keep.",
            )


def _others(skipped: Skipped) -> str:
    if not skipped.total:
        return "no file at all"
    example = next(iter(skipped.examples.values()))
    return f"{skipped.total} other or hidden files, such as {example}"
