"""The end of what containers say while they run, from the web pages of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from audioloom_yarn_launcher.yarn.log_page import last_bytes, scheme

MOST_ASKED = 16
TAIL_BYTES = 2048


def last_words_of(containers: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The last lines of each container's log by its id; of the first few, if there are many.

    Args:
        containers: `host:port` of its node's page, its id, and its service, which names its log.
    """
    start = scheme()
    asked = [each for each in containers if each[0] and each[1]][:MOST_ASKED]
    path = "ws/v1/node/containers"
    pages = [f"{start}://{node}/{path}/{each}/logs/{service}.log" for node, each, service in asked]
    if not pages or not start:
        return {}
    with ThreadPoolExecutor(len(pages)) as pool:
        said = pool.map(_tail, pages)
        return {each: text for (_, each, _), text in zip(asked, said, strict=True)}


def _tail(page: str) -> str:
    found = last_bytes(page, TAIL_BYTES)
    if found is None:
        return ""
    length, data = found
    text = data.decode("utf-8", errors="replace")
    whole = text.partition("\n")[2] if length > len(data) else ""
    return (whole or text).rstrip()
