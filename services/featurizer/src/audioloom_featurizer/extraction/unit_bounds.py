"""Choose the size of units, so that a set has few features files and none is very large.

The cost of the sharder grows with the number of features files. A small set is cut for the cores of
one machine, a large one into at most `MOST_UNITS` units, unless their files would be too large.
"""

import math
from dataclasses import dataclass

import numpy as np
from audioloom_audio import ExtractionSettings

FILE_BYTES = 512 << 20
"""Aimed at for the features file of a unit in a large set."""

SMALL_BYTES, SMALL_RECORDINGS = 256 << 20, 1000
"""Units of a set that is too small for larger ones."""

FEWEST_RECORDINGS = 20
AIMED_UNITS = 32
MOST_UNITS = 2000
_SAMPLE_BYTES = 2


@dataclass(frozen=True)
class UnitBounds:
    """The most bytes of recordings, and the most recordings, in a unit."""

    bytes: int
    recordings: int


def expected_windows(settings: ExtractionSettings, recordings: int, size: int) -> int:
    """The windows of recordings with *size* bytes together, as nobody knows before they are opened.

    With all windows, 16-bit samples of the settings' rate are assumed.
    """
    signals = 2 if settings.channels == "split" else 1
    if settings.windows == "first":
        return recordings * signals
    return max(recordings * signals, size // (settings.hop_samples * _SAMPLE_BYTES))


def window_bytes(settings: ExtractionSettings) -> int:
    """The bytes of the feature of one window."""
    return math.prod(settings.shape) * np.dtype(settings.dtype).itemsize


def default_bounds(settings: ExtractionSettings, recordings: int, size: int) -> UnitBounds:
    """The bounds for a set of *recordings* with *size* bytes together.

    A unit of recordings with more windows than `expected_windows` writes several files.
    """
    signals = 2 if settings.channels == "split" else 1
    most_windows = max(1, FILE_BYTES // (window_bytes(settings) * signals))
    aimed = min(SMALL_RECORDINGS, max(FEWEST_RECORDINGS, -(-recordings // AIMED_UNITS)))
    most_bytes = max(SMALL_BYTES, -(-size // MOST_UNITS))
    if settings.windows == "all":
        hop = settings.hop_samples * _SAMPLE_BYTES * signals
        most_bytes = max(1, min(most_bytes, most_windows * hop))
    most_recordings = min(most_windows, max(aimed, -(-recordings // MOST_UNITS)))
    return UnitBounds(most_bytes, most_recordings)
