"""What a wrong cluster gets: a sentence that says which and what to do, and the right exit code.

The table is the test. Nothing here may be tried again for minutes: each row has `WITHIN_S`, several
times what it takes on two slow cores.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

WITHIN_S = 90
DEAD = "127.0.0.1:1"
"""Nobody listens there, and nobody may."""
RUN = ("run", "--on=yarn", "--root={root}", "--name=wrong", "--", "true")
PACK = ("env", "pack", "--root={root}", "--with=six==1.17.0")
OLD_JAVA = """\
#!/bin/sh
echo 'Exception in thread "main" java.lang.UnsupportedClassVersionError: \
com/anaconda/skein/ApplicationMaster : Unsupported major.minor version 52.0' >&2
exit 1
"""


@dataclass(frozen=True)
class Wrong:
    """A row: what is wrong, which command meets it, and what it must say.

    Args:
        what: is wrong, the name of the test.
        words: of the command; `{root}`, `{old_java}` and `{silent}` are filled in.
        code: exit code.
        told: what stderr must hold.
        changed: properties of the configuration.
        without: files that it lacks, a pattern.
        variables: of the command; None takes one away.
    """

    what: str
    words: tuple[str, ...]
    code: int
    told: tuple[str, ...]
    changed: dict[str, str] = field(default_factory=dict)
    without: str = ""
    variables: dict[str, str | None] = field(default_factory=dict)


def over(root: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The same command on another root."""
    return tuple(each.replace("{root}", root) for each in words)


def asking(*flags: str) -> tuple[str, ...]:
    """`run` that asks for more."""
    return (*RUN[:-2], *flags, *RUN[-2:])


UNSET: dict[str, str | None] = {"HADOOP_CONF_DIR": None}
NO_NAMENODE = (f"hdfs://{DEAD}/", "no NameNode answered", "Check that it runs")
FORM = "{root}/runs/wrong"
LARGEST = "6144 MiB, 8 vcores, 2 GPUs"

AT_ONCE = [
    Wrong("no-conf-run", RUN, 78, ("HADOOP_CONF_DIR", "export"), variables=UNSET),
    Wrong("conf-without-files", RUN, 78, ("HADOOP_CONF_DIR", "yarn-site.xml"), without="*"),
    Wrong("conf-without-core", RUN, 78, ("core-site.xml", "fs.defaultFS"), without="core-site.xml"),
    Wrong("no-namenode-run", over(f"hdfs://{DEAD}/x", RUN), 69, NO_NAMENODE),
    Wrong(
        "no-namenode-of-the-cluster",
        over("/tmp/none", RUN),  # noqa: S108 - not written
        69,
        ("core-site.xml", f"fs.defaultFS, hdfs://{DEAD}", "Ask who runs the cluster"),
        {"fs__defaultFS": f"hdfs://{DEAD}"},
    ),
    Wrong(
        "no-manager",
        RUN,
        69,
        ("no ResourceManager answers", DEAD, "Ask who runs the cluster"),
        {"yarn__resourcemanager__address": DEAD},
    ),
    Wrong("no-java", RUN, 78, ("Java is missing", "/no/java"), variables={"JAVA_HOME": "/no/java"}),
    Wrong("no-queue", asking("--queue=nope"), 78, ("no such queue", "default", "--queue")),
    Wrong("gpus", asking("--gpus=3"), 78, (LARGEST, "3 GPUs", "--gpus")),
]
LATER = [
    Wrong("no-conf-pack", PACK, 78, ("HADOOP_CONF_DIR", "export"), variables=UNSET),
    Wrong("no-namenode-pack", over(f"hdfs://{DEAD}/x", PACK), 69, NO_NAMENODE),
    *(
        Wrong(f"no-namenode-{word}", over(f"hdfs://{DEAD}/x", (word, FORM)), 69, NO_NAMENODE)
        for word in ("status", "logs", "kill")
    ),
    Wrong(
        "old-java",
        RUN,
        78,
        ("Java of this machine is too old", "Set JAVA_HOME"),
        variables={"JAVA_HOME": "{old_java}"},
    ),
    Wrong("memory", asking("--memory=64 GiB"), 78, (LARGEST, "65536 MiB", "--memory")),
    Wrong("vcores", asking("--vcores=99"), 78, (LARGEST, "99 vcores", "--vcores")),
    Wrong("label", asking("--node-label=fast"), 78, ("label", "fast", "--node-label")),
    Wrong(
        "coordinator",
        asking("--coordinator-memory=64 GiB"),
        78,
        (LARGEST, "--coordinator-memory"),
    ),
    Wrong(
        "no-java-on-the-nodes",
        asking("--coordinator-env=JAVA_HOME=/no/java"),
        78,
        ("the node has no Java", "/no/java/bin/java: No such file", "--coordinator-env"),
    ),
    Wrong(
        "old-java-on-the-nodes",
        asking("--coordinator-env=JAVA_HOME={old_java}"),
        78,
        ("the nodes' Java is too old", "version 52.0", "--coordinator-env"),
    ),
    Wrong(
        "master-over-its-memory",
        asking("--coordinator-memory=100 MiB"),
        75,
        ("the application master was killed for memory", "--coordinator-memory"),
    ),
    Wrong(
        "silent-manager",
        RUN,
        69,
        ("the ResourceManager does not answer", "15 s"),
        {"yarn__resourcemanager__address": "{silent}"},
    ),
    Wrong("silent-namenode", over("hdfs://{silent}/x", RUN), 69, ("no answer within",)),
]


@pytest.fixture(scope="module")
def places(yarn: Any) -> Iterator[dict[str, str]]:
    """What the rows refer to: a root, a Java of 2011, a port that is taken and never answers."""
    java = yarn.folder / "old-java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(OLD_JAVA)
    java.chmod(0o755)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        yield {"root": yarn.root, "old_java": str(java.parent.parent), "silent": address}


@pytest.fixture(scope="module")
def conf(yarn: Any, places: dict[str, str]) -> Any:
    """A configuration that is wrong in the way of a row."""

    def made(row: Wrong) -> Path:
        changed = {name: value.format(**places) for name, value in row.changed.items()}
        return Path(yarn.conf(without=row.without, **changed))

    return made


def begin(yarn: Any, conf: Any, places: dict[str, str], row: Wrong) -> Any:
    """Start the command of a row."""
    words = [each.format(**places) for each in row.words]
    variables = {name: value and value.format(**places) for name, value in row.variables.items()}
    if row.changed or row.without:
        variables["HADOOP_CONF_DIR"] = str(conf(row))
    return yarn.start(*words, **variables)


def check(row: Wrong, process: Any) -> None:
    out, err = process.communicate(timeout=WITHIN_S)
    assert (row.code, "") == (process.returncode, out), err
    assert [] == [each for each in row.told if each not in err], err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.fixture(scope="module")
def begun(yarn: Any, conf: Any, places: dict[str, str]) -> Any:
    """The commands of `AT_ONCE`, two at a time: each is most of a second of imports."""
    started: dict[str, Any] = {}

    def get(row: Wrong) -> Any:
        at = AT_ONCE.index(row)
        for each in AT_ONCE[at : at + 2]:
            if each.what not in started:
                started[each.what] = begin(yarn, conf, places, each)
        return started[row.what]

    return get


@pytest.mark.parametrize("row", AT_ONCE, ids=lambda row: row.what)
def test_what_is_wrong_is_said_at_once(begun: Any, row: Wrong) -> None:
    """Before anything is shipped or submitted."""
    check(row, begun(row))


@pytest.mark.slow
@pytest.mark.parametrize("row", LATER, ids=lambda row: row.what)
def test_what_only_the_cluster_knows_is_said_too(
    yarn: Any, conf: Any, places: dict[str, str], row: Wrong
) -> None:
    """By the scheduler, a node or a clock, and by the other commands that need a cluster."""
    check(row, begin(yarn, conf, places, row))


def test_what_was_refused_left_nothing(yarn: Any) -> None:
    """No run, and no application."""
    assert {} == yarn.status("wrong")
    assert [] == yarn.cluster.applications()
