"""Start the daemons, wait until all work together; kill, freeze and restart single ones."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audioloom_mini_cluster.errors import NotReady
from audioloom_mini_cluster.java import JVM_OPTIONS
from audioloom_mini_cluster.plan import Daemon, Layout, Size, lay_out, write_conf
from audioloom_mini_cluster.programs import write_programs
from audioloom_mini_cluster.subreaper import die_with_parent

_PATIENCE_SECONDS = 120
_TAIL_LINES = 12


@dataclass
class Cluster:
    """The running daemons.

    Args:
        folder: all they write, one folder a daemon and a node.
        jars: the class path.
        java: the program.
        layout: who listens where.
    """

    folder: Path
    jars: Path
    java: Path
    layout: Layout
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)

    @property
    def conf(self) -> Path:
        """What clients need as HADOOP_CONF_DIR."""
        return self.folder / "conf"

    @property
    def environment(self) -> dict[str, str]:
        """What clients export; PATH is to be put before theirs."""
        return {
            "HADOOP_CONF_DIR": str(self.conf),
            "JAVA_HOME": str(self.java.parent.parent),
            "PATH": str(self.folder / "bin"),
        }

    def launch(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a daemon; its output goes to `<folder>/<name>/log`."""
        daemon = self._daemon(name)
        here = self.folder / name
        here.mkdir(exist_ok=True)
        conf = here / "conf"
        if not conf.exists():
            write_conf(conf, daemon.conf)
        home = self.java.parent
        words = [
            *(str(self.java), f"-Xmx{daemon.heap_mb}m", *JVM_OPTIONS),
            *(f"-Dhadoop.log.dir={here}", f"-Dyarn.log.dir={here}", f"-Dhadoop.home.dir={here}"),
            f"-Djava.library.path={self.folder / 'native'}",
            # Else the daemons' web pages are unpacked in /tmp and stay there.
            *(f"-Djava.io.tmpdir={here}", f"-Djdk.net.hosts.file={self.folder / 'hosts'}", "-cp"),
            *(f"{conf}:{self.folder / 'pages'}:{self.jars}/*", daemon.program, *arguments),
        ]
        with (here / "log").open("ab") as log:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=here,
                # Nothing of the developer's: what containers inherit is what a node has.
                env={
                    "HADOOP_CONF_DIR": str(conf),
                    "JAVA_HOME": str(home.parent),
                    "PATH": f"{home}:/usr/bin:/bin",
                    "HOME": str(here),
                    "USER": getpass.getuser(),
                    "LANG": "C.UTF-8",
                },
                start_new_session=True,  # Ctrl-C is for the command alone
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one thread, and only a prctl
            )

    def start(self, name: str) -> None:
        """Start a daemon that is not running, and wait until all that run work together.

        Raises:
            NotReady: it runs already, or does not come up.
        """
        self._daemon(name)
        running = self.processes.get(name)
        if running is not None and running.poll() is None:
            raise NotReady(f"{name} is running")
        self.processes[name] = self.launch(name)
        self.wait()

    def kill(self, name: str) -> None:
        """End a daemon by SIGKILL, as a power cut would; its containers live on, as on a node."""
        self._daemon(name)
        process = self.processes[name]
        process.kill()
        process.wait()
        self.stopped.discard(name)

    def stop(self, name: str) -> None:
        """Freeze a daemon by SIGSTOP: its connections stay open, and it answers nobody.

        Raises:
            NotReady: it does not run.
        """
        self._signal(name, signal.SIGSTOP)
        self.stopped.add(name)

    def cont(self, name: str) -> None:
        """Let a daemon that was frozen go on, and wait until all that run work together.

        Raises:
            NotReady: it does not run, or does not come back.
        """
        self._signal(name, signal.SIGCONT)
        self.stopped.discard(name)
        self.wait()

    def wait(self) -> None:
        """Wait until every daemon that was neither killed nor frozen is at work.

        Raises:
            NotReady: one ended, or the time is up.
        """
        living = {name for name, process in self.processes.items() if process.poll() is None}
        living -= self.stopped
        wanted = {
            kind: sum(name.startswith(kind) for name in living)
            for kind in ("datanode", "nodemanager")
        }
        found: dict[str, Any] = {}
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            for name in sorted(living):
                if self.processes[name].poll() is not None:
                    raise NotReady(f"{name} ended before it was ready:\n{self.tail(name)}")
            found = {"datanode": self._datanodes(), "nodemanager": self._nodemanagers()}
            masters = {"datanode": "namenode", "nodemanager": "resourcemanager"}
            if all(found[kind] == wanted[kind] for kind in wanted if masters[kind] in living):
                return
            time.sleep(0.2)
        raise NotReady(
            f"expected {wanted} at work within {_PATIENCE_SECONDS} s, found {found};"
            f" the logs are {self.folder}/*/log"
        )

    def tail(self, name: str) -> str:
        """The last lines of a daemon's log."""
        log = self.folder / name / "log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])

    def make_home(self) -> None:
        """Make /tmp and the user's folder, as an administrator does."""
        for path, mode in (("/tmp", "1777"), (f"/user/{getpass.getuser()}", "755")):  # noqa: S108
            url = f"{self.layout.namenode_page}/webhdfs/v1{path}?op=MKDIRS&permission={mode}"
            url += f"&user.name={getpass.getuser()}"
            with urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=30):  # noqa: S310
                pass

    def _daemon(self, name: str) -> Daemon:
        for daemon in self.layout.daemons:
            if daemon.name == name:
                return daemon
        names = ", ".join(daemon.name for daemon in self.layout.daemons)
        raise NotReady(f"expected one of {names}, found {name!r}")

    def _signal(self, name: str, number: signal.Signals) -> None:
        self._daemon(name)
        process = self.processes[name]
        if process.poll() is not None:
            raise NotReady(f"{name} does not run")
        process.send_signal(number)

    def _datanodes(self) -> int | None:
        """How many the NameNode knows; None until it answers and takes writes."""
        query = self.layout.namenode_page + "/jmx?qry=Hadoop:service=NameNode,name="
        state, info = (_ask(query + name) for name in ("FSNamesystem", "NameNodeInfo"))
        try:
            safe_mode = bool(info["beans"][0]["Safemode"])
            return None if safe_mode else int(state["beans"][0]["NumLiveDataNodes"])
        except (TypeError, IndexError):  # no answer, or it has only begun
            return None

    def _nodemanagers(self) -> int | None:
        metrics = _ask(self.layout.resourcemanager_page + "/ws/v1/cluster/metrics")
        return None if metrics is None else int(metrics["clusterMetrics"]["activeNodes"])


def _ask(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own daemon
            return json.load(answer)
    except (OSError, ValueError):
        return None


def start(folder: Path, jars: Path, java: Path, size: Size) -> Cluster:
    """Start all daemons below an empty folder, and wait until they work together.

    Raises:
        NotReady: one of them ended, or the time was up.
    """
    layout = lay_out(folder, jars, size)
    cluster = Cluster(folder, jars, java, layout)
    for page in ("hdfs", "datanode", "secondary"):  # else the daemons refuse to start their pages
        (folder / "pages" / "webapps" / page / "WEB-INF").mkdir(parents=True)
    # An address is its own name: the result does not depend on this machine's resolver.
    addresses = ["127.0.0.1 localhost", f"127.0.0.1 {os.uname().nodename}"]
    addresses += [f"{address} {address}" for address in ("127.0.0.2", *layout.nodes)]
    (folder / "hosts").write_text("\n".join(addresses) + "\n")
    write_conf(cluster.conf, layout.client, level="WARN")
    write_programs(folder, cluster.conf, jars, java)
    if cluster.launch("namenode", "-format", "-nonInteractive").wait():
        raise NotReady(f"the NameNode could not be formatted:\n{cluster.tail('namenode')}")
    for daemon in layout.daemons:
        cluster.processes[daemon.name] = cluster.launch(daemon.name)
    cluster.wait()
    cluster.make_home()
    return cluster
