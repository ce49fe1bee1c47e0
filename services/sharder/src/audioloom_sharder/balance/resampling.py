"""Resampling: leave out or repeat windows until all labels of train are equally frequent.

The number of copies is a pure function of a window's label and rank hash: some whole copies, and
one more when the hash lies below a threshold. Each threshold is an exact order statistic of the
label's hashes. Two passes find it: histograms of the hashes, then the few hashes of its bin. So
no process ever holds the hashes of all windows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

ResampleMode = Literal["none", "under", "over"]
"""No label more often than the rarest; or none less often than the commonest."""

_BIN_BITS = 10
_BINS = 1 << _BIN_BITS


Copies = tuple[int, int]
"""The whole copies of a label's windows, and the hash (128 bits) below which there is one more."""


class Cut(NamedTuple):
    """The whole copies of a label's windows, and the place of its threshold.

    The place is a bin of the histogram, -1 without a threshold, and an index among its hashes.
    """

    copies: int
    bin: int
    place: int


Histograms = dict[str, dict[int, int]]
"""Label: windows in each bin of their hashes that holds some."""


def bins_of(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the bin of each rank hash; the hashes have shape (records, 2)."""
    return (hashes[:, 0] >> np.uint64(64 - _BIN_BITS)).astype(np.int64)


def count_labels(labels: Sequence[str], hashes: NDArray[np.uint64]) -> Histograms:
    """Count windows by label and bin of their rank hashes, shape (records, 2)."""
    names, numbers = _numbered(labels)
    keys, counts = np.unique(numbers * _BINS + bins_of(hashes), return_counts=True)
    found: Histograms = {}
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        found.setdefault(names[key // _BINS], {})[key % _BINS] = count
    return found


def sum_histograms(parts: Iterable[Histograms]) -> dict[str, NDArray[np.int64]]:
    """Sum the histograms of all parts: label to a histogram of all bins."""
    whole: dict[str, NDArray[np.int64]] = {}
    for part in parts:
        for label, counts in part.items():
            histogram = whole.setdefault(label, np.zeros(_BINS, np.int64))
            histogram[list(counts)] += list(counts.values())
    return whole


def find_cuts(histograms: Mapping[str, NDArray[np.int64]], way: ResampleMode) -> dict[str, Cut]:
    """Find the copies and the threshold of each label, in the order of the labels."""
    counts = {label: int(each.sum()) for label, each in sorted(histograms.items())}
    aim = (min if way == "under" else max)(counts.values(), default=0)
    cuts: dict[str, Cut] = {}
    for label, count in counts.items():
        copies, extra = divmod(aim, count)  # so many windows have one more
        upto = np.cumsum(histograms[label])
        at = int(np.searchsorted(upto, extra, side="right"))
        place = extra - int(upto[at - 1] if at else 0)
        cuts[label] = Cut(copies, at, place) if extra else Cut(copies, -1, 0)
    return cuts


def hashes_in_cuts(
    labels: Sequence[str], hashes: NDArray[np.uint64], cuts: Mapping[str, Cut]
) -> dict[str, list[int]]:
    """Select the hashes of each label that lie in the bin of its cut."""
    names, numbers = _numbered(labels)
    wanted = np.array([cuts[name].bin if name in cuts else -1 for name in names], np.int64)
    found: dict[str, list[int]] = {}
    for at in np.flatnonzero(bins_of(hashes) == wanted[numbers]).tolist():
        number = int(hashes[at, 0]) << 64 | int(hashes[at, 1])
        found.setdefault(labels[at], []).append(number)
    return found


def copies_per_label(
    cuts: Mapping[str, Cut], near: Mapping[str, Sequence[int]]
) -> dict[str, Copies]:
    """Make the rule of each label; *near* holds all hashes in the bin of its cut, in any order."""
    return {
        label: (cut.copies, sorted(near[label])[cut.place] if cut.bin >= 0 else 0)
        for label, cut in cuts.items()
    }


def copies_of_windows(
    labels: Sequence[str], hashes: NDArray[np.uint64], rules: Mapping[str, Copies]
) -> NDArray[np.int64]:
    """Return the number of copies of each window: one if its label has no rule."""
    names, numbers = _numbered(labels)
    each = [rules.get(name, (1, 0)) for name in names]
    whole = np.array([copies for copies, _ in each], np.int64)[numbers]
    high = np.array([bound >> 64 for _, bound in each], np.uint64)[numbers]
    low = np.array([bound & (2**64 - 1) for _, bound in each], np.uint64)[numbers]
    below = (hashes[:, 0] < high) | ((hashes[:, 0] == high) & (hashes[:, 1] < low))
    return np.asarray(whole + below)


def _numbered(labels: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    names = sorted(set(labels))
    number = {name: at for at, name in enumerate(names)}
    return names, np.fromiter((number[label] for label in labels), np.int64, len(labels))
