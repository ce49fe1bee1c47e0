"""Propose a pattern for labels and groups from the paths of recordings."""

import re
from collections.abc import Callable, Sequence

MOST_LABELS = 1000
MATCHED = 0.9
"""Share of the paths that a proposed pattern matches."""

_PREFIX = re.compile(r"([^/_-]+)[_-][^/]*")


class PathSample:
    """Some of many paths, evenly taken."""

    def __init__(self, most: int = 4000) -> None:
        self._most = most
        self._every, self._seen = 1, 0
        self.paths: list[str] = []

    def add(self, paths: Sequence[str]) -> None:
        """Add paths in their order."""
        first = -self._seen % self._every
        self.paths += paths[first :: self._every]
        self._seen += len(paths)
        while len(self.paths) > self._most:
            self.paths = self.paths[::2]
            self._every *= 2


def propose_pattern(paths: Sequence[str]) -> str | None:
    """A pattern with the groups label and group, or one of them; None if the paths show neither.

    The label is the first folder that takes several values, each in several recordings. The group
    is a folder below it, or the start of the file name up to a dash or an underscore.
    """
    level = next((at for at in range(_depth(paths)) if _divides(_folder(at), paths)), None)
    start = "" if level is None else "[^/]+/" * level + "(?P<label>[^/]+)/"
    below = 0 if level is None else level + 1
    group = next((at for at in range(below, _depth(paths)) if _divides(_folder(at), paths)), None)
    if group is not None and level is not None:
        pattern = f"{start}{'[^/]+/' * (group - below)}(?P<group>[^/]+)/.*"
    elif _divides(_prefix, paths):
        pattern = f"{start}(?:.*/)?(?P<group>[^/_-]+)[_-][^/]*"
    elif level is not None:
        pattern = f"{start}.*"
    else:
        return None
    matched = sum(re.fullmatch(pattern, path) is not None for path in paths)
    return pattern if matched >= MATCHED * len(paths) else None


def _depth(paths: Sequence[str]) -> int:
    """Folders that nearly all paths have."""
    depths = sorted(path.count("/") for path in paths)
    return depths[int((1 - MATCHED) * len(depths))] if depths else 0


def _divides(part: Callable[[str], str | None], paths: Sequence[str]) -> bool:
    """Whether a part of the paths takes several values, each in several recordings on average."""
    found = [value for path in paths if (value := part(path)) is not None]
    values = len(set(found))
    return (
        len(found) >= MATCHED * len(paths)
        and 1 < values <= min(MOST_LABELS, len(found) // 2)
        and all("\n" not in value for value in found)
    )


def _folder(level: int) -> Callable[[str], str | None]:
    def part(path: str) -> str | None:
        parts = path.split("/")
        return parts[level] if level < len(parts) - 1 else None

    return part


def _prefix(path: str) -> str | None:
    match = _PREFIX.fullmatch(path.rpartition("/")[2])
    return None if match is None else match[1]
