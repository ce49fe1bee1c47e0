"""The status of each process of a run: its newest progress, and the resources that it uses.

    status/<block>/<rank>    one JSON object; a block holds `BLOCK` ranks

A worker reports its status at intervals, and the coordinator reads all of them at intervals: they
wake nobody. The keys have no owner, because the last status of a lost worker helps to explain it.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

STATUS = "status/"
BLOCK = 500
"""Ranks that are read in one call: gRPC refuses an answer of more than 4 MiB."""

NUMBERS = ("step", "from_step", "steps", "epoch", "loss", "steps_per_second", "input_wait")
WORDS = {"event": 100, "time": 100, "error": 100, "text": 500}
"""The fields of words, and the most characters of each."""
PEERS, MOST_PEERS, MOST_RANK = "peer_ranks", 32, 10_000
SECONDS, MOST_CLASSES, MOST_NAME = "seconds", 16, 32
"""The wall time so far by class; its bounds."""


def status_key(rank: int) -> str:
    """The key of the status of a rank."""
    return f"{STATUS}{rank // BLOCK}/{rank}"


def status_prefixes(size: int) -> Iterator[str]:
    """The prefixes below which the status of each of *size* ranks is."""
    return (f"{STATUS}{block}/" for block in range(math.ceil(size / BLOCK)))


def merged(known: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the newest value of each field after another line of a program's progress.

    The line comes from a program of the user: unknown fields are left out, the others are bounded.
    """
    found = dict(known)
    for name in NUMBERS:
        if _is_number(value := line.get(name)):
            found[name] = value
    for name, most in WORDS.items():
        if isinstance(value := line.get(name), str):
            found[name] = value.encode(errors="replace").decode()[:most]
    if isinstance(peers := line.get(PEERS), list):
        ranks = (each for each in peers if isinstance(each, int) and 0 <= each < MOST_RANK)
        found[PEERS] = [*islice(ranks, MOST_PEERS)]
    if isinstance(seconds := line.get(SECONDS), dict):
        classes = ((name, s) for name, s in seconds.items() if _is_number(s) and math.isfinite(s))
        short = (each for each in classes if each[0].isascii() and len(each[0]) <= MOST_NAME)
        found[SECONDS] = dict(islice(short, MOST_CLASSES))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)
