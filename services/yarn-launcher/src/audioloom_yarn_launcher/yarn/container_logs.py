"""The logs of containers: of running ones from the pages of their nodes, of a master from YARN.

The nodes of a cluster with Kerberos refuse these requests. Then the logs count as unknown. YARN's
diagnostics of an application hold only the shell's output from before the master started.
"""

import re
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from audioloom_hadoop.rest import fetch

from audioloom_yarn_launcher.errors import NoCluster
from audioloom_yarn_launcher.system.processes import output_of
from audioloom_yarn_launcher.system.waiting import poll
from audioloom_yarn_launcher.yarn.configuration import find_hadoop
from audioloom_yarn_launcher.yarn.containers import ContainerState

_MOST_AROUND = 1 << 16  # of text that a node adds before and after the log
_HEAD = re.compile(rb"LogLength: *([0-9]+)\r?\nLogContents:\r?\n")
MOST_ASKED = 16
TAIL_BYTES = 2048
FILES = "application.master.log,application.driver.log"
WITHIN_S = 20.0
MOST_LINES = 12
_PIECE = re.compile(r"^LogContents:\n(.*?)^End of LogType:", re.DOTALL | re.MULTILINE)
_NOISE = re.compile(r"^\s*at |^\s*\.\.\. \d+ more|SLF4J|NativeCodeLoader|WARN conf.Configuration: ")


def last_bytes(page: str, size: int) -> tuple[int, bytes] | None:
    """Return the length of a log and its last *size* bytes; None if the node does not answer.

    The page is `http://node/ws/v1/node/containers/<container>/logs/<file>`.
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


def scheme_of_pages() -> str:
    """Return the scheme of the ResourceManager's web pages; "" if no cluster is known."""
    try:
        pages = find_hadoop().pages
    except NoCluster:
        return ""
    return pages[0].partition(":")[0] if pages else ""


def last_words_of(containers: Iterable[ContainerState]) -> dict[str, str]:
    """Return the last lines of each container's log by its id; of the first few of many."""
    start = scheme_of_pages()
    asked = [each for each in containers if each.node and each.container][:MOST_ASKED]
    pages = [
        f"{start}://{each.node}/ws/v1/node/containers/{each.container}/logs/{each.service}.log"
        for each in asked
    ]
    if not pages or not start:
        return {}

    def tail(page: str) -> str:
        length, data = last_bytes(page, TAIL_BYTES) or (0, b"")
        text = data.decode("utf-8", errors="replace")
        whole = text.partition("\n")[2] if length > len(data) else ""
        return (whole or text).rstrip()

    with ThreadPoolExecutor(len(pages)) as pool:
        said = pool.map(tail, pages)
        return {each.container: text for each, text in zip(asked, said, strict=True)}


def last_words(application: str) -> str:
    """Return the last lines of the application master's logs; "" without log aggregation.

    YARN collects the logs after the end, so this asks again for `WITHIN_S` seconds.
    """
    command = ["yarn", "logs", "-applicationId", application, "-am", "ALL", "-log_files", FILES]

    def ask() -> str:
        return said_in(output_of(*command, within_s=WITHIN_S))

    if shutil.which("yarn") is None:
        return ""
    return poll(ask, every_s=1.0, within_s=WITHIN_S) or ""


def said_in(output: str) -> str:
    """Return the last lines of the output of `yarn logs` that carry information."""
    lines = [line for piece in _PIECE.findall(output) for line in piece.splitlines()]
    kept = [line for line in lines if line.strip() and not _NOISE.search(line)]
    return "\n".join(kept[-MOST_LINES:])
