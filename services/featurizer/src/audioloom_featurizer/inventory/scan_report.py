"""What a scan saw and the inventory does not hold: told, and refused where it cannot be meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from audioloom_storage import Location

from audioloom_featurizer.errors import (
    BadLabels,
    BadWish,
    NoRecordings,
    NothingNew,
    PatternMatchesNothing,
    Unlabelled,
)
from audioloom_featurizer.inventory.delta import Changes
from audioloom_featurizer.inventory.labels.path_pattern import Bare, Matches
from audioloom_featurizer.inventory.labels.table import Join
from audioloom_featurizer.inventory.sources.walk import Skipped, clean_suffixes
from audioloom_featurizer.settings import ScanSettings

log = structlog.get_logger()


@dataclass
class Seen:
    """What was seen on the way and is not in the inventory."""

    skipped: Skipped = field(default_factory=Skipped)
    matches: Matches = field(default_factory=Matches)
    join: Join = field(default_factory=Join)
    changes: Changes = field(default_factory=Changes)
    bare: Bare = field(default_factory=Bare)
    listed: int = 0
    said_by: dict[str, str] = field(default_factory=dict)
    """Who says label, target and group: a flag for each that is said."""

    def say(self, flag: str, names: Sequence[str]) -> None:
        """Note who says what.

        Raises:
            BadWish: two say the same.
        """
        for name in names:
            if name in self.said_by:
                raise BadWish(
                    f"two tell the {name} of a recording",
                    where=flag,
                    expected="one of the two",
                    found=f"{self.said_by[name]} and {flag}",
                    hint="Take the group out of the pattern, or the column out of the table.",
                )
            self.said_by[name] = flag

    def tell(self) -> None:
        """Say what was passed over, and what is odd."""
        for reason, example in self.skipped.examples.items():
            log.info(
                "passed over", reason=reason, files=self.skipped.counts[reason], example=example
            )
        if unmatched := self.matches.paths - self.matches.matched:
            log.warning("recordings that the pattern does not match have no label", files=unmatched)
        if self.join.unmatched:
            examples = self.join.examples
            log.warning("labels of no recording", keys=self.join.unmatched, examples=examples)
        for what, examples in self.changes.examples.items():
            if examples:
                log.warning(
                    "not as listed before; only a scan without --since takes that up",
                    what=what,
                    files=getattr(self.changes, what),
                    examples=examples,
                )

    def check(self, settings: ScanSettings, source: Location, recordings: int) -> None:
        """Refuse a listing that cannot be meant.

        Raises:
            NoRecordings, NothingNew, PatternMatchesNothing, BadLabels, Unlabelled.
        """
        if not self.listed:
            raise NoRecordings(
                "no recordings were found",
                where=settings.inventory or source,
                expected=f"files that end in {' '.join(clean_suffixes(settings.suffix))}",
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
        if "--labels" in self.said_by.values() and not self.join.recordings:
            raise BadLabels(
                "the labels are of no recording",
                where=settings.labels or settings.labels_jdbc,
                expected=f"what recordings are known by: their {settings.labels_by}",
                found=", ".join(map(repr, self.join.examples)) or "no rows",
                hint="See --labels-by and --labels-columns key=COLUMN.",
            )
        if settings.unlabelled == "refuse" and self.bare.recordings:
            raise Unlabelled(
                "recordings have no label",
                where=source,
                expected="a label or a target for each",
                found=f"{self.bare.recordings} without, such as {', '.join(self.bare.examples)}",
                hint="Label them, or leave them out with --unlabelled drop.",
            )
        if not recordings and settings.since is not None and not self.bare.dropped:
            raise NothingNew(
                "nothing has come since",
                where=source,
                expected=f"recordings that {settings.since} does not list",
                found=f"{self.changes.changed} changed, {self.changes.gone} gone, none new",
                hint="There is nothing to do; scan without --since to list anew.",
            )
        if not recordings:
            raise Unlabelled(
                "no recording is left",
                where=source,
                expected="some with a label or a target",
                found=f"{self.bare.dropped} without, such as {', '.join(self.bare.examples)}",
                hint="See --pattern and --labels, or keep them: --unlabelled keep.",
            )


def _others(skipped: Skipped) -> str:
    if not skipped.total:
        return "no file at all"
    example = next(iter(skipped.examples.values()))
    return f"{skipped.total} other or hidden files, such as {example}"
