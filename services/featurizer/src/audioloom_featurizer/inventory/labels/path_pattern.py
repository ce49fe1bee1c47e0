"""Read label, target and group of a recording from its path, by a pattern with named groups."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.errors import BadPattern, BadTarget
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, ROWS, replaced

_EXAMPLES = 5
KEY = "key"
"""The named group that a table of labels is joined by."""


@dataclass(frozen=True)
class PathLabels:
    """The values that a pattern finds in a path; None for a group that caught nothing.

    Attributes:
        label: the class.
        target: the number to predict, for regression.
        group: recordings that stay in one split: a speaker, a call, a campaign.
        key: the key of the recording in a table of labels.
    """

    label: str | None = None
    target: float | None = None
    group: str | None = None
    key: str | None = None


NO_LABELS = PathLabels()


@dataclass
class PatternMatches:
    """The number of paths compared with a pattern, and of paths that it matched."""

    paths: int = 0
    matched: int = 0
    example: str = ""

    def add(self, other: "PatternMatches") -> None:
        """Add the counts of another listing."""
        self.paths += other.paths
        self.matched += other.matched
        self.example = self.example or other.example


@dataclass
class UnlabelledCount:
    """The number of recordings with neither label nor target, and of those dropped."""

    recordings: int = 0
    dropped: int = 0
    examples: list[str] = field(default_factory=list)


def compile_pattern(text: str, *, with_key: bool = False) -> re.Pattern[str]:
    """Compile a pattern and check its named groups.

    Args:
        text: the pattern.
        with_key: labels are joined by the group `key`, which the pattern must have.

    Raises:
        BadPattern: the text is not a regular expression, or has no or unknown named groups.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise BadPattern(
            "the pattern is not a regular expression",
            where=f"--pattern {text}",
            expected="Python's syntax, such as (?P<label>[^/]+)/.*",
            found=str(error),
        ) from None
    named = set(pattern.groupindex)
    if with_key and KEY not in named:
        raise BadPattern(
            "labels are joined by a key that the pattern does not name",
            where=f"--pattern {text}",
            expected="a named group (?P<key>…)",
            found=", ".join(sorted(named)) or "no named group",
        )
    if not named or named - set(LABEL_COLUMNS) - ({KEY} if with_key else set()):
        raise BadPattern(
            where=f"--pattern {text}",
            expected="named groups (?P<label>…), (?P<group>…) or (?P<target>…), no others",
            found=", ".join(sorted(named)) or "no named group",
        )
    return pattern


def labels_from_path(path: str, pattern: re.Pattern[str]) -> PathLabels | None:
    """Read the values in *path*; None if the pattern does not match the whole path.

    Raises:
        BadTarget: the target is not a finite number.
    """
    match = pattern.fullmatch(path)
    if match is None:
        return None
    caught = match.groupdict()
    target = caught.get("target") or None
    return PathLabels(
        label=caught.get("label") or None,
        target=None if target is None else _number(target, path),
        group=caught.get("group") or None,
        key=caught.get(KEY) or None,
    )


def label_by_pattern(
    batches: Iterable[pa.RecordBatch], pattern: re.Pattern[str], matches: PatternMatches
) -> Iterator[pa.RecordBatch]:
    """Fill the columns that the pattern names; other columns do not change."""
    named = [name for name in (*LABEL_COLUMNS, KEY) if name in pattern.groupindex]
    for batch in batches:
        if not batch.num_rows:
            continue
        found = [labels_from_path(path, pattern) for path in batch.column("path").to_pylist()]
        matches.paths += batch.num_rows
        matches.example = matches.example or batch.column("path")[0].as_py()
        matches.matched += sum(each is not None for each in found)
        known = [each or NO_LABELS for each in found]
        columns = {
            name: pa.array([getattr(each, name) for each in known], ROWS.field(name).type)
            for name in named
        }
        yield replaced(batch, **columns)


def count_unlabelled(
    batches: Iterable[pa.RecordBatch], count: UnlabelledCount, *, drop: bool
) -> Iterator[pa.RecordBatch]:
    """Count the rows without label and target, and drop them if *drop*."""
    for batch in batches:
        nameless = pc.and_(pc.is_null(batch.column("label")), pc.is_null(batch.column("target")))
        paths = batch.column("path").filter(nameless)
        count.recordings += len(paths)
        count.dropped += len(paths) if drop else 0
        count.examples += paths.slice(0, _EXAMPLES - len(count.examples)).to_pylist()
        yield batch.filter(pc.invert(nameless)) if drop else batch


def _number(text: str, path: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTarget(
            where=path,
            expected="a finite number in the group target",
            found=repr(text),
            hint="A target is a number; for classes name the group label.",
        )
    return number
