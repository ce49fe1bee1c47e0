"""The page on which a NodeManager shows a log of a container, while it is written.

Seen where the nodes answer anybody; those of a cluster with Kerberos do not, and then nothing is
known.
"""

from __future__ import annotations

import re

from audioloom_hadoop.rest import fetch

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.yarn.configuration import find_hadoop

_MOST_AROUND = 1 << 16  # what a node says before and after the bytes of a log
_HEAD = re.compile(rb"LogLength: *([0-9]+)\r?\nLogContents:\r?\n")


def last_bytes(page: str, size: int) -> tuple[int, bytes] | None:
    """How long a log is, and no more than its last bytes; None if the node does not tell.

    Args:
        page: `http://node/ws/v1/node/containers/<container>/logs/<file>`.
        size: how many bytes are wanted.
    """
    try:
        body = fetch(f"{page}?size=-{size}", most_bytes=size + _MOST_AROUND)
    except (OSError, ValueError):
        return None
    head = _HEAD.search(body)
    if head is None:
        return None
    length = int(head[1])
    data = body[head.end() :][: min(length, size)]
    return (length, data) if len(data) == min(length, size) else None


def scheme() -> str:
    """As the pages of the ResourceManager have it; "" where no cluster is known."""
    try:
        pages = find_hadoop().pages
    except NoCluster:
        return ""
    return pages[0].partition(":")[0] if pages else ""
