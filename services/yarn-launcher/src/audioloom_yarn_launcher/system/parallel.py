"""Work in several threads at once, whose results come in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AT_ONCE = 32


def ahead(work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
    """Yield the answer for each item; threads work on the next `AT_ONCE` items meanwhile."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun: deque[Future[Answer]] = deque()
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) > AT_ONCE:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
