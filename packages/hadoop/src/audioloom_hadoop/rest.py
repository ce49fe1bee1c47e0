"""Ask the daemons of a cluster over HTTP, without starting a JVM.

A cluster with Kerberos does not answer this module, which cannot authenticate: the result is then
that nothing is known.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

ANSWER_WITHIN_S = 3.0
_WHOLE_AFTER = 10  # times as long as the first bytes may take: a large cluster has long answers
_MOST_BYTES = 64 << 20
_PIECE_BYTES = 64 << 10


def ask(pages: Iterable[str], what: str, *, within_s: float = ANSWER_WITHIN_S) -> Any | None:
    """Return the JSON object of the first page that answers; None if no page answers.

    The pages are those of daemons that stand in for each other, `http://host:port`; *what* is the
    path with the query, such as `/ws/v1/cluster/nodes`. Where there is no such thing, return {}.
    """
    for page in pages:
        try:
            answer = json.loads(fetch(page + what, accept="application/json", within_s=within_s))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == HTTPStatus.NOT_FOUND:
                    return {}
        except (OSError, ValueError):
            continue
        else:
            if isinstance(answer, dict):
                return answer
    return None


def fetch(
    url: str,
    *,
    accept: str = "*/*",
    within_s: float = ANSWER_WITHIN_S,
    most_bytes: int = _MOST_BYTES,
) -> bytes:
    """Return the body of a page, at most so many bytes of it.

    Raises:
        OSError: the page is silent for so many seconds, has not come after ten times as long,
            refuses, or breaks off.
        ValueError: this is no URL.
    """
    # Never through a proxy: the cluster is on this side of it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - http or https, by the configuration
    try:
        with opener.open(request, timeout=within_s) as reply:
            return _body(reply, url, _WHOLE_AFTER * within_s, most_bytes)
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _body(reply: http.client.HTTPResponse, url: str, within_s: float, most_bytes: int) -> bytes:
    until = time.monotonic() + within_s
    length = reply.length  # None: unknown before the end
    most = most_bytes if length is None else min(most_bytes, length)
    body = bytearray()
    while len(body) < most and (piece := reply.read1(min(_PIECE_BYTES, most - len(body)))):
        body += piece
        if time.monotonic() > until:
            raise TimeoutError(f"{url}: {len(body)} bytes came within {within_s:g} s, and no end")
    if length is not None and len(body) < most:
        raise http.client.IncompleteRead(bytes(body), most - len(body))
    return bytes(body)


def rows(value: Any) -> list[dict[str, Any]]:
    """Return a list of objects; older ResourceManagers write a list of one as its element."""
    every = value if isinstance(value, list) else [value]
    return [each for each in every if isinstance(each, dict)]


def queues(scheduler: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield each queue in an answer to `cluster/scheduler`, as the path to it from the root."""
    root = ((scheduler or {}).get("scheduler") or {}).get("schedulerInfo")
    paths = [[each] for each in rows(root)]
    for path in paths:  # the loop appends to it
        yield path
        paths += [[*path, each] for each in rows((path[-1].get("queues") or {}).get("queue"))]
