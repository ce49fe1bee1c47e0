"""Label, group and target of a recording, taken from its path by a pattern with named groups."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from audioloom_featurizer.errors import BadPattern, BadTarget
from audioloom_featurizer.inventory.schema import ROWS, SAID, replaced

_EXAMPLES = 5
KEY = "key"
"""The group that names what labels are joined by."""


@dataclass(frozen=True)
class Labels:
    """What a path says of its recording; None where it says nothing.

    Attributes:
        label: the class.
        target: the number to predict, for regression.
        group: what must not be divided between splits: a speaker, a call, a campaign.
        key: what a table of labels knows the recording by.
    """

    label: str | None = None
    target: float | None = None
    group: str | None = None
    key: str | None = None


NOTHING = Labels()


@dataclass
class Matches:
    """How many paths a pattern was held against, and how many it described."""

    paths: int = 0
    matched: int = 0
    example: str = ""

    def add(self, other: Matches) -> None:
        """Count what was held against it elsewhere too."""
        self.paths += other.paths
        self.matched += other.matched
        self.example = self.example or other.example


@dataclass
class Bare:
    """How many recordings have neither label nor target, and how many of them were left out."""

    recordings: int = 0
    dropped: int = 0
    examples: list[str] = field(default_factory=list)


def compile_pattern(text: str, *, with_key: bool = False) -> re.Pattern[str]:
    """Compile a pattern, and check that it names at least one thing we know and nothing else.

    Args:
        text: the pattern.
        with_key: labels are joined by the group `key`, which it has to name.

    Raises:
        BadPattern: with the place of the fault.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise BadPattern(
            "the pattern is no regular expression",
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
    if not named or named - set(SAID) - ({KEY} if with_key else set()):
        raise BadPattern(
            where=f"--pattern {text}",
            expected="named groups (?P<label>…), (?P<group>…) or (?P<target>…), no others",
            found=", ".join(sorted(named)) or "no named group",
        )
    return pattern


def labels_of(path: str, pattern: re.Pattern[str]) -> Labels | None:
    """What *path* says, when the pattern describes the whole of it; None when it does not.

    A group that caught nothing, or an empty text, says nothing.

    Raises:
        BadTarget: the target is no finite number.
    """
    match = pattern.fullmatch(path)
    if match is None:
        return None
    caught = match.groupdict()
    target = caught.get("target") or None
    return Labels(
        label=caught.get("label") or None,
        target=None if target is None else _number(target, path),
        group=caught.get("group") or None,
        key=caught.get(KEY) or None,
    )


def label_by_pattern(
    batches: Iterable[pa.RecordBatch], pattern: re.Pattern[str], matches: Matches
) -> Iterator[pa.RecordBatch]:
    """Batches of `ROWS` with what their paths say; columns that the pattern does not name stay."""
    named = [name for name in (*SAID, KEY) if name in pattern.groupindex]
    for batch in batches:
        if not batch.num_rows:
            continue
        said = [labels_of(path, pattern) for path in batch.column("path").to_pylist()]
        matches.paths += batch.num_rows
        matches.example = matches.example or batch.column("path")[0].as_py()
        matches.matched += sum(each is not None for each in said)
        known = [each or NOTHING for each in said]
        columns = {
            name: pa.array([getattr(each, name) for each in known], ROWS.field(name).type)
            for name in named
        }
        yield replaced(batch, **columns)


def labelled(
    batches: Iterable[pa.RecordBatch], bare: Bare, *, drop: bool
) -> Iterator[pa.RecordBatch]:
    """Batches of `ROWS`, those without label and target counted, and left out if they are to be."""
    for batch in batches:
        nameless = pc.and_(pc.is_null(batch.column("label")), pc.is_null(batch.column("target")))
        paths = batch.column("path").filter(nameless)
        bare.recordings += len(paths)
        bare.dropped += len(paths) if drop else 0
        bare.examples += paths.slice(0, _EXAMPLES - len(bare.examples)).to_pylist()
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
