"""Ways to read from HDFS: each lane by a client of its own, in whatever process it is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import BinaryIO, cast

from audioloom_storage import Location, locate, open_read
from hdfs_native import Client

from audioloom_bench.measure import FLOOR, NAIVE


def in_order(lane: str, root: str, name: str, length: int, size: int) -> None:
    """Read a whole file, *size* bytes at a time; each lane says whether it saw every byte."""
    place = locate(root) / name
    if lane == FLOOR:
        pieces = client(root).read(place.path).read_range_stream(0, length)
        check(sum(map(len, pieces)), length)
        return
    with opened(lane, root, place) as file:
        check(sum(map(len, iter(partial(file.read, size), b""))), length)


def whole_files(lane: str, root: str, names: Sequence[str], length: int) -> None:
    """Open small files and read them."""
    for name in names:
        place = locate(root) / name
        if lane == FLOOR:
            blocks = client(root).read(place.path)
            check(len(blocks.read_range(0, len(blocks))), length)
        else:
            with opened(lane, root, place) as file:
                check(len(file.read()), length)


def ranges(lane: str, root: str, name: str, size: int, offsets: Sequence[int]) -> None:
    """Read parts of one file that is opened once."""
    place = locate(root) / name
    if lane == FLOOR:
        blocks = client(root).read(place.path)
        for offset in offsets:
            check(len(blocks.read_range(offset, size)), size)
        return
    with opened(lane, root, place) as file:
        for offset in offsets:
            file.seek(offset)
            check(len(file.read(size)), size)


def opened(lane: str, root: str, place: Location) -> BinaryIO:
    """A file, naively or by us."""
    return cast("BinaryIO", client(root).read(place.path)) if lane == NAIVE else open_read(place)


@cache
def client(root: str) -> Client:
    """The process's own client of that cluster."""
    return Client(root)


def check(found: int, expected: int) -> None:
    """A lane that reads less is not fast."""
    if found != expected:
        raise RuntimeError(f"expected {expected} bytes, found {found}")
