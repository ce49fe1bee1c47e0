"""Wait for answers: of a condition that is polled, and of work in several threads at once."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AT_ONCE = 32


def poll(
    probe: Callable[[], Answer | None], *, every_s: float, within_s: float = math.inf
) -> Answer | None:
    """Call *probe* until its answer is true or the time is over; return the last answer."""
    deadline = time.monotonic() + within_s
    while True:
        answer = probe()
        left = deadline - time.monotonic()
        if answer or left <= 0:
            return answer
        time.sleep(min(every_s, left))


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
