"""A part of a features run: counts, lengths, mean features, examples of refusals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

FILES = 32
"""Features files that are read by default."""
ROWS, COLUMNS = 40, 48
"""The largest picture."""


@dataclass(frozen=True)
class Picture:
    """The features of some windows of one label.

    Attributes:
        windows: windows whose values were read.
        mean: (coefficients, frames), neighbours averaged to at most `ROWS` and `COLUMNS`. Each
            value is the distance of the mean over the windows from the mean of that coefficient
            over all labels, in its standard deviations; None where no window has a recorded frame.
        levels: the values below which 5, 50 and 95 % of the recorded values lie.
    """

    windows: int
    mean: Sequence[Sequence[float | None]]
    levels: Sequence[float]


@dataclass
class FeatureSample:
    """What a part of a features run holds. A label or group of None is that of recordings without.

    Attributes:
        files: features files that were read, of `all_files`.
        windows: windows that were counted, and `frames` their recorded frames.
        recordings: recordings of each label, by group.
        seconds: lengths of the recordings.
        flags: windows with each flag.
        pictures: of the most frequent labels.
        refusals: path and message of some refused recordings of each class.
    """

    files: int
    all_files: int
    windows: int = 0
    frames: int = 0
    recordings: dict[str | None, Counter[str | None]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)
    pictures: dict[str | None, Picture] = field(default_factory=dict)
    refusals: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
