"""The end of what containers say while they run, from the web pages of their nodes.

Seen where the nodes answer anybody; those of a cluster with Kerberos do not, and then nothing is
known.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.hadoop import ANSWER_WITHIN_S, find_hadoop

MOST_ASKED = 16
TAIL_BYTES = 2048


def last_words_of(containers: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The last lines of each container's log by its id; of the first few, if there are many.

    Args:
        containers: `host:port` of its node's page, its id, and its service, which names its log.
    """
    try:
        secure = find_hadoop().value("yarn.http.policy") == "HTTPS_ONLY"
    except NoCluster:
        return {}
    asked = [each for each in containers if each[0] and each[1]][:MOST_ASKED]
    scheme = "https" if secure else "http"
    path = "ws/v1/node/containers"
    pages = [
        f"{scheme}://{node}/{path}/{each}/logs/{service}.log?size=-{TAIL_BYTES}"
        for node, each, service in asked
    ]
    if not pages:
        return {}
    with ThreadPoolExecutor(len(pages)) as pool:
        said = pool.map(_read, pages)
        return {each: text for (_, each, _), text in zip(asked, said, strict=True)}


def contents(answer: str) -> str:
    """The log in a page on it, which begins and ends with what the node says of it."""
    body = answer.partition("LogContents:\n")[2] or answer
    before, mark, _ = body.rpartition("End of LogType:")
    log = before if mark else body
    whole = log.partition("\n")[2] if len(log.encode()) >= TAIL_BYTES else ""
    return (whole or log).rstrip()


def _read(page: str) -> str:
    try:
        with urllib.request.urlopen(page, timeout=ANSWER_WITHIN_S) as reply:  # noqa: S310 - as above
            return contents(reply.read(4 * TAIL_BYTES).decode("utf-8", errors="replace"))
    except (OSError, ValueError):
        return ""
