"""Log findings of a scan that are not in the inventory, and refuse likely mistakes."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from audioloom_manifest.kinds import RecordingsStats
from audioloom_storage import Location

from audioloom_featurizer.errors import (
    BadLabels,
    InvalidOption,
    NoRecordings,
    NothingNew,
    Unlabelled,
)
from audioloom_featurizer.inventory.labels.proposal import PathSample, propose_pattern
from audioloom_featurizer.inventory.sources.walk import normalise_suffixes
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.settings import ScanSettings

SKIPPED = ("hidden", "other", "containers", "left_out", "elsewhere")
"""Why files, and members of containers, are skipped."""
CHANGES = ("changed", "gone")
"""Differences from an earlier listing."""

_WARNINGS = {
    "damaged": "damaged containers: the members before the damage are listed",
    "unmatched": "the pattern does not match every recording: the others have no label",
    "alone": "labels that match no recording",
    **dict.fromkeys(
        CHANGES, "recordings differ from the earlier listing: scan again without --since"
    ),
}

log = structlog.get_logger()


@dataclass
class ScanReport(Tally):
    """Counts of a scan that the inventory does not hold.

    Attributes:
        columns_from: the option that fills label, target and group.
        paths: some of the recordings' paths.
        proposal: a pattern for labels or groups that no recording has, if the paths show one.
    """

    columns_from: dict[str, str] = field(default_factory=dict)
    paths: PathSample = field(default_factory=PathSample)
    proposal: str | None = None

    def fill(self, flag: str, names: Sequence[str]) -> None:
        """Note that an option fills some columns; raise `InvalidOption` if another one does."""
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
        for reason in SKIPPED:
            if files := self.counts[reason]:
                example = self.examples[reason][0]
                log.info("skipped", reason=reason, files=files, example=example)
        if sampled := self.counts["sampled"]:
            log.info("a sample is listed (--limit)", of=sampled)
        if self.counts["containers"]:
            log.info("--containers lists the recordings inside containers")
        for what, warning in _WARNINGS.items():
            if count := self.counts[what]:
                log.warning(warning, what=what, count=count, examples=self.examples[what])

    def propose(self, stats: RecordingsStats) -> None:
        """Warn if no recording has a label, or none a group, and propose a pattern for both."""
        if not stats.recordings or (stats.labelled and stats.grouped):
            return
        self.proposal = propose_pattern(self.paths.paths)
        shown = {"proposal": f"--pattern {shlex.quote(self.proposal)}"} if self.proposal else {}
        if not stats.labelled:
            log.warning("no recording has a label", recordings=stats.recordings, **shown)
        if not stats.grouped:
            log.warning(
                "no recording has a group: those of one speaker may be in several splits",
                recordings=stats.recordings,
                **shown,
            )

    def check(self, settings: ScanSettings, source: Location, recordings: int) -> None:
        """Refuse a listing that is certainly a mistake.

        Raises:
            NoRecordings, NothingNew, BadLabels, Unlabelled.
        """
        counts, listed = self.counts, self.counts["listed"]
        if not listed:
            raise NoRecordings(
                "no recordings were found",
                where=settings.inventory or source,
                expected=f"files that end in {' '.join(normalise_suffixes(settings.suffix))}",
                found=self._others(),
                hint="List the recordings inside with --containers."
                if counts["containers"]
                else "Check the folder, or say which files are recordings with --suffix.",
            )
        if counts["damaged"] == listed:
            raise NoRecordings(
                "the containers are damaged before their first recording",
                where=source,
                expected="recordings inside",
                found=f"{listed} damaged {', '.join(self.examples['damaged'])}",
                hint="Copy them anew.",
            )
        if settings.pattern and counts["unmatched"] == listed:
            raise BadLabels(
                "the pattern matches no recording",
                where=f"--pattern {settings.pattern}",
                expected="a pattern for the whole path below the source",
                found=f"{listed} paths such as {self.examples['unmatched'][0]}",
            )
        if "--labels" in self.columns_from.values() and not counts["joined"]:
            raise BadLabels(
                "the labels match no recording",
                where=settings.labels or settings.labels_jdbc,
                expected=f"keys that are the {settings.labels_by} of recordings",
                found=", ".join(map(repr, self.examples["alone"])) or "no rows",
                hint="See --labels-by and --labels-columns key=COLUMN.",
            )
        without = f"without, such as {', '.join(self.examples['unlabelled'])}"
        if settings.unlabelled == "refuse" and counts["unlabelled"]:
            raise Unlabelled(
                "recordings have no label",
                where=source,
                expected="a label or a target for each",
                found=f"{counts['unlabelled']} {without}",
                hint="Label them, or leave them out with --unlabelled drop.",
            )
        if not recordings and settings.since is not None and not counts["dropped"]:
            raise NothingNew(
                "no recording is new",
                where=source,
                expected=f"recordings that {settings.since} does not list",
                found=f"{counts['changed']} changed, {counts['gone']} gone, none new",
                hint="There is nothing to do; scan without --since to list everything.",
            )
        if not recordings:
            raise Unlabelled(
                "no recording is left",
                where=source,
                expected="some with a label or a target",
                found=f"{counts['dropped']} {without}",
                hint="See --pattern and --labels, or keep them: --unlabelled keep.",
            )

    def _others(self) -> str:
        if not (total := sum(self.counts[reason] for reason in SKIPPED)):
            return "no file at all"
        example = next(self.examples[reason][0] for reason in SKIPPED if self.counts[reason])
        return f"{total} other or hidden files, such as {example}"
