"""Read label, target and group of a recording from its path, by a pattern with named groups."""

import math
import re
from collections.abc import Iterable, Iterator

import pyarrow as pa

from audioloom_featurizer.errors import BadLabels, InvalidOption
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, replaced
from audioloom_featurizer.inventory.tally import Tally

KEY = "key"
"""The named group that a table of labels is joined by."""


def compile_pattern(text: str, *, with_key: bool = False) -> re.Pattern[str]:
    """Compile a pattern and check its named groups; *with_key*, it must have the group `key`.

    Raises:
        InvalidOption: the text is not a regular expression, or has no or unknown named groups.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise InvalidOption(
            "the pattern is not a regular expression",
            where=f"--pattern {text}",
            expected="Python's syntax, such as (?P<label>[^/]+)/.*",
            found=str(error),
        ) from None
    named = set(pattern.groupindex)
    expected = ""
    if with_key and KEY not in named:
        expected = "a named group (?P<key>…), by which labels are joined"
    elif not named or named - {*LABEL_COLUMNS, *([KEY] if with_key else [])}:
        expected = "named groups (?P<label>…), (?P<group>…) or (?P<target>…), no others"
    if expected:
        found = ", ".join(sorted(named)) or "no named group"
        raise InvalidOption(where=f"--pattern {text}", expected=expected, found=found)
    return pattern


def labels_from_path(path: str, pattern: re.Pattern[str]) -> dict[str, str | float | None] | None:
    """Read the named groups in *path*; None if the pattern does not match the whole path.

    A group that caught nothing, or took no part, is None.

    Raises:
        BadLabels: the target is not a finite number.
    """
    match = pattern.fullmatch(path)
    if match is None:
        return None
    found: dict[str, str | float | None] = {
        name: text or None for name, text in match.groupdict().items()
    }
    if target := found.get("target"):
        found["target"] = _number(str(target), path)
    return found


def label_by_pattern(
    batches: Iterable[pa.RecordBatch], pattern: re.Pattern[str], tally: Tally
) -> Iterator[pa.RecordBatch]:
    """Fill the columns that the pattern names; other columns do not change.

    For a member of a container the pattern is tried with the path that it would have if it were
    unpacked beside the container, then with its own path.
    """
    for batch in batches:
        paths = batch.column("path")
        members = batch.column("member").to_pylist()
        found = [_labels(*pair, pattern) for pair in zip(paths.to_pylist(), members, strict=True)]
        missed = pa.array([each is None for each in found], pa.bool_())
        tally.add("unmatched", paths.filter(missed))
        columns = {name: [each and each[name] for each in found] for name in pattern.groupindex}
        yield replaced(batch, **columns)


def _labels(
    path: str, member: str | None, pattern: re.Pattern[str]
) -> dict[str, str | float | None] | None:
    if member is not None:
        folder = path[: -len(member) - 1].rpartition("/")[0]
        beside = f"{folder}/{member}" if folder else member
        if (found := labels_from_path(beside, pattern)) is not None:
            return found
    return labels_from_path(path, pattern)


def _number(text: str, path: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadLabels(
            where=path,
            expected="a finite number in the group target",
            found=repr(text),
            hint="A target is a number; for classes name the group label.",
        )
    return number
