"""Counts of what a scan or an import finds, with examples."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pyarrow as pa

_EXAMPLES = 5


@dataclass
class Tally:
    """Counts by what was found, each with the first few paths or keys as examples.

    * listed: recordings found.
    * hidden: files skipped because a name in their path starts with a dot, as in AppleDouble files
      (`._x.wav`).
    * other: files skipped because of their suffix.
    * containers: containers skipped, because --containers is not given.
    * left_out: members of containers that are links, encrypted or without content, or whose names
      lead outside; the examples are the containers.
    * damaged: containers that are damaged or cannot be read, of which the rest is not listed.
    * elsewhere: files of a table that lie outside the sources.
    * sampled: recordings of which a sample was taken.
    * unmatched: recordings that the pattern does not match.
    * joined: recordings that have a row in the table of labels.
    * alone: keys of the table of labels that no recording has.
    * changed: recordings with another size or modification time than in the earlier listing.
    * gone: recordings of the earlier listing that no longer exist.
    * unlabelled, dropped: recordings, or windows of a table, with neither label nor target.
    * infinite, twice: windows of a table with values that are not finite, and repeated ones.
    """

    counts: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, what: str, names: pa.StringArray) -> None:
        """Count more."""
        self.count(what, len(names), names.slice(0, _EXAMPLES).to_pylist())

    def merge(self, other: "Tally") -> None:
        """Add the counts of a part of the scan."""
        for what, count in other.counts.items():
            self.count(what, count, other.examples[what])

    def count(self, what: str, count: int, names: list[str]) -> None:
        """Count more, of which some names are known."""
        self.counts[what] += count
        self.examples[what] = [*self.examples[what], *names][:_EXAMPLES]
