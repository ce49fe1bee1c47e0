"""A cluster that works, for a program that needs one: `with running() as cluster: ...`."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audioloom_mini_cluster.errors import MiniClusterError, NotReady
from audioloom_mini_cluster.shared_cluster import description

GIVEN = "AUDIOLOOM_TEST_CLUSTER"
"""Variable that names a shared cluster: the file with the line that `python -m
audioloom_mini_cluster` printed, or a folder as `shared_cluster` says."""
LIVING = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_END_SECONDS = 600  # a busy machine takes its time to end six daemons and remove their folders

_OFFER_SECONDS = 60


@dataclass(frozen=True)
class Running:
    """What the command says when all daemons work together, and what can be asked of them.

    Args:
        hdfs: URI of its file system.
        webhdfs: the same by the NameNode's page.
        base: URI of a folder of the file system for this program alone.
        conf: folder of its configuration.
        environment: what its clients export; `PATH` is to be put before theirs.
        pages: addresses of its web pages, "hdfs" and, unless there is only HDFS, "yarn".
        nodes: the addresses of its worker nodes.
        folder: where its daemons and containers write.
        daemons: the process of each daemon, by its name; those of now.
        tell: do a word, `kill`, `start`, `stop` or `cont` and `datanode-1`, and wait until it is
            done; MiniClusterError if it is not.
    """

    hdfs: str
    webhdfs: str
    base: str
    conf: str
    environment: Mapping[str, str]
    pages: Mapping[str, str]
    nodes: Sequence[str]
    folder: str
    daemons: Mapping[str, int]
    tell: Callable[[str], None] = field(repr=False)

    @property
    def variables(self) -> dict[str, str]:
        """The whole environment of a client: this process's own, and the cluster's."""
        path = f"{self.environment['PATH']}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, **self.environment, "PATH": path}

    @contextmanager
    def exported(self) -> Iterator[None]:
        """Until the block ends, this process and those it starts are clients of the cluster."""
        before = dict(os.environ)
        os.environ.update(self.variables)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def ask(self, path: str) -> Any:
        """What the ResourceManager's page answers, such as to `/ws/v1/cluster/nodes`."""
        return _answer(self.pages["yarn"] + path)

    def clear(self) -> None:
        """End the applications that run, and remove the folder `base`."""
        for application in self.applications():
            command = ["yarn", "application", "-kill", application]
            subprocess.run(command, env=self.variables, check=True, capture_output=True)
        folder = self.pages["hdfs"] + "/webhdfs/v1" + self.base.removeprefix(self.hdfs)
        _answer(f"{folder}?op=DELETE&recursive=true&user.name={getpass.getuser()}", "DELETE")

    @contextmanager
    def with_memory(self, megabytes: int) -> Iterator[None]:
        """Let each node offer only this much memory until the block ends.

        YARN is free to put all containers on one node. A test that needs them on two starts them
        while one node has no room for all. Containers that run are left alone.
        """
        before = self._offers()
        self._offer({node: {**offer, "memory-mb": megabytes} for node, offer in before.items()})
        try:
            yield
        finally:
            self._offer(before)

    def _offers(self) -> dict[str, dict[str, int]]:
        """What each node offers, by the name of the resource, as the scheduler knows it."""
        offers: dict[str, dict[str, int]] = {}
        for node in self._running_nodes():
            offer = offers[node["id"]] = {}
            for part in (node["usedResource"], node["availableResource"]):
                for each in part["resourceInformations"]["resourceInformation"]:
                    offer[each["name"]] = offer.get(each["name"], 0) + each["value"]
        return offers

    def _offer(self, offers: Mapping[str, Mapping[str, int]]) -> None:
        # The page takes such a change too, but sets every resource to 0 that is neither memory
        # nor cores.
        commands = []
        for node, offer in offers.items():
            resources = ",".join(
                f"{name}={amount}{'Mi' if name == 'memory-mb' else ''}"
                for name, amount in offer.items()
            )
            words = ["yarn", "rmadmin", "-updateNodeResource", node, resources]
            commands.append(subprocess.Popen(words, env=self.variables))
        for command in commands:  # each is a JVM that starts: all at once
            if code := command.wait():
                raise MiniClusterError(f"yarn rmadmin ended with exit code {code}; why is above")
        # The scheduler learns of the change a moment later, and the node itself with its next
        # heartbeat. A node that is lost before that would register with its earlier offer.
        memory = {node: offer["memory-mb"] for node, offer in offers.items()}
        deadline = time.monotonic() + _OFFER_SECONDS
        while self._offers() != offers or self._own_memory() != memory:
            if time.monotonic() > deadline:
                raise MiniClusterError(f"after {_OFFER_SECONDS} s the nodes do not offer {offers}")
            time.sleep(0.1)

    def _own_memory(self) -> dict[str, int]:
        """The MiB of each node as its NodeManager knows them."""
        pages = {each["id"]: each["nodeHTTPAddress"] for each in self._running_nodes()}
        return {
            node: _answer(f"http://{page}/ws/v1/node/info")["nodeInfo"][
                "totalPmemAllocatedContainersMB"
            ]
            for node, page in pages.items()
        }

    def _running_nodes(self) -> list[dict[str, Any]]:
        nodes: list[dict[str, Any]] = self.ask("/ws/v1/cluster/nodes?states=RUNNING")["nodes"][
            "node"
        ]
        return nodes

    def applications(self, states: str = LIVING) -> list[str]:
        """The applications in these states; by default those that have not ended."""
        answer = self.ask(f"/ws/v1/cluster/apps?states={states}")["apps"]
        return [each["id"] for each in (answer or {}).get("app", [])]

    @contextmanager
    def without(self, *daemons: str) -> Iterator[None]:
        """Until the block ends, these daemons are dead."""
        with self._told(daemons, "kill", "start"):
            yield

    @contextmanager
    def frozen(self, *daemons: str) -> Iterator[None]:
        """Until the block ends, these daemons are stopped: they hold what they have."""
        with self._told(daemons, "stop", "cont"):
            yield

    @contextmanager
    def _told(self, daemons: Sequence[str], before: str, after: str) -> Iterator[None]:
        for daemon in daemons:
            self.tell(f"{before} {daemon}")
        try:
            yield
        finally:
            for daemon in daemons:
                self.tell(f"{after} {daemon}")


@contextmanager
def running(*options: str, python: str = sys.executable, alone: bool = False) -> Iterator[Running]:
    """Start a cluster, or use the shared one that AUDIOLOOM_TEST_CLUSTER names.

    A cluster that this block starts ends with the block, or with this process whatever becomes of
    it. A shared cluster outlives the block: the block's applications end and its folder `base` is
    removed, but the block cannot kill daemons.

    Args:
        options: of the command, such as "--memory-mb=3072". A cluster with options is not shared.
        python: of an environment that has this package, and Ivy where there is no Maven.
        alone: the block does what other users of the cluster would feel, such as killing daemons.

    Raises:
        MiniClusterError: the daemons do not work together; why is on stderr.
    """
    given = os.environ.get(GIVEN)
    if given and not options and not alone:
        cluster = _described(description(Path(given), python), _deaf)
        try:
            yield cluster
        finally:
            cluster.clear()
        return
    words = [python, "-m", "audioloom_mini_cluster", *options]
    # Of a session of its own: Ctrl-C is for us, who may still need the cluster to end in order.
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        answers = process.stdout
        line = answers.readline()
        if not line:
            code = process.wait()
            raise NotReady(f"the mini-cluster ended with exit code {code}; why is above")
        said = json.loads(line)

        def tell(word: str) -> None:
            print(word, file=process.stdin, flush=True)
            answer = json.loads(answers.readline() or "{}")
            if answer.get("done") != word:
                raise MiniClusterError(answer.get("error", "the mini-cluster has ended"))
            said["daemons"][word.split()[1]] = answer["pid"]  # another one, once it is started anew

        try:
            yield _described(said, tell)
        finally:
            process.stdin.close()
            code = process.wait(_END_SECONDS)
        if code != 0:
            raise MiniClusterError(f"the mini-cluster ended with exit code {code}, not 0")


def _described(said: Mapping[str, Any], tell: Callable[[str], None]) -> Running:
    names = ("hdfs", "webhdfs", "conf", "environment", "pages", "nodes", "folder", "daemons")
    base = f"{said['hdfs']}/tests-{uuid.uuid4().hex[:8]}"
    return Running(**{name: said[name] for name in names}, base=base, tell=tell)


def _answer(url: str, method: str = "GET") -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, method=method), timeout=30) as reply:  # noqa: S310
        return json.load(reply)


def _deaf(word: str) -> None:
    raise MiniClusterError(f"cannot {word}: the cluster is shared, see {GIVEN}")
