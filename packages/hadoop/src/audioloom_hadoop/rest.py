"""Ask the daemons of a cluster over HTTP, without starting a JVM.

A cluster with Kerberos does not answer this module, which cannot authenticate: the result is then
that nothing is known.
"""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

ANSWER_WITHIN_S = 3.0
_MOST_BYTES = 64 << 20


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
        OSError: the page does not answer within so many seconds, refuses, or breaks off.
        ValueError: this is no URL.
    """
    # Never through a proxy: the cluster is on this side of it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - http or https, by the configuration
    try:
        with opener.open(request, timeout=within_s) as reply:
            body: bytes = reply.read(most_bytes)
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
    return body


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
